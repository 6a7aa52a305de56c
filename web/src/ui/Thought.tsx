// SPDX-License-Identifier: MIT
import { useSignal } from '@preact/signals';
import type { MessageNode } from '../chat/tree';
import { Markdown } from './Markdown';

/** A thought: open while it is being written, folded afterwards, unless the reader decides otherwise. */
export function Thought({ node, open }: { node: MessageNode; open: boolean }) {
  const chosen = useSignal<boolean | null>(null);
  const shown = chosen.value ?? open;
  const seconds = node.reasoningMs !== undefined ? Math.max(0.1, node.reasoningMs / 1000) : undefined;
  const title = open ? 'Thinking…' : seconds === undefined ? 'Thought' : `Thought for ${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return (
    <div class={`thought ${open ? 'live' : ''}`}>
      <button type="button" class="fold" aria-expanded={shown} onClick={() => (chosen.value = !shown)}>
        <span class="triangle" aria-hidden="true" />
        {title}
      </button>
      {shown && (
        <div class="thought-text">
          <Markdown text={node.reasoning ?? ''} />
        </div>
      )}
    </div>
  );
}
