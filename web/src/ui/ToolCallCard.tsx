// SPDX-License-Identifier: MIT
import { useRef } from 'preact/hooks';
import type { ToolCall } from '../api/types';
import { current } from '../chat/app';
import { openCalls } from '../chat/conversation';
import { busy, giveToolResult } from '../chat/generation';
import { shownPath, type MessageNode, type MessageTree } from '../chat/tree';
import { highlighted } from '../markdown/highlight';
import { copyText } from './clipboard';
import { Icon, IconButton } from './Icon';

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // still arriving
  }
}

function resultOf(tree: MessageTree, node: MessageNode, call: ToolCall): MessageNode | undefined {
  const path = shownPath(tree);
  for (let i = path.indexOf(node) + 1; path[i]?.role === 'tool'; ++i) if (path[i]!.toolCallId === call.id) return path[i];
  return undefined;
}

/** A tool call with its arguments, and its result or a field for it. */
export function ToolCallCard(props: { call: ToolCall; node: MessageNode; writing: boolean }) {
  const { call, node, writing } = props;
  const tree = current.value.tree;
  const field = useRef<HTMLTextAreaElement>(null);
  const result = resultOf(tree, node, call);
  const open = openCalls(tree);
  const waits = !writing && open?.assistant.id === node.id && open.ids.includes(call.id);
  const code = pretty(call.arguments);
  return (
    <section class="tool" aria-label={`Tool call ${call.name}`}>
      <header>
        <Icon name="tool" />
        <strong>{call.name || '…'}</strong>
        <span class="quiet">{writing ? 'being written' : result ? 'done' : waits ? 'waits for a result' : ''}</span>
        <IconButton icon="copy" label="Copy the arguments" onClick={() => void copyText(call.arguments)} />
      </header>
      <pre tabIndex={0}>
        <code dangerouslySetInnerHTML={{ __html: highlighted(code, 'json') }} />
      </pre>
      {result && (
        <details class="tool-result" open={result.content.length < 400}>
          <summary>Result</summary>
          <pre tabIndex={0}>{result.content}</pre>
        </details>
      )}
      {waits && (
        <form
          class="tool-answer"
          onSubmit={(event) => {
            event.preventDefault();
            giveToolResult(call.id, field.current!.value);
          }}
        >
          <textarea ref={field} rows={2} aria-label={`Result of ${call.name}`} placeholder="Result of the tool, as text or JSON" />
          <button type="submit" class="primary" disabled={busy.value}>
            Give result
          </button>
        </form>
      )}
    </section>
  );
}
