// SPDX-License-Identifier: MIT
import type { MessageNode } from '../chat/tree';
import { tokensPerSecond } from '../chat/speed';

function round(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1);
}

/** Tokens, speed and seed of an answer. */
export function Figures({ node }: { node: MessageNode }) {
  const { usage, timings } = node;
  const speed = tokensPerSecond(timings);
  const parts: string[] = [];
  if (usage) parts.push(`${usage.completion_tokens} tokens`);
  if (speed.decode) parts.push(`${round(speed.decode)} tokens/s`);
  if (node.finish === 'stopped') parts.push('stopped');
  if (node.edited) parts.push('edited');
  const details: string[] = [];
  if (usage) {
    const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
    details.push(`prompt: ${usage.prompt_tokens} tokens${cached ? `, ${cached} from the cache` : ''}`);
    const thought = usage.completion_tokens_details?.reasoning_tokens;
    if (thought) details.push(`thought: ${thought} tokens`);
  }
  if (speed.prompt) details.push(`prompt read at ${round(speed.prompt)} tokens/s`);
  if (timings?.draft_n) details.push(`drafts: ${timings.draft_accepted ?? 0} of ${timings.draft_n} accepted`);
  if (node.seed !== undefined) details.push(`seed ${node.seed}`);
  if (node.model) details.push(node.model);
  if (parts.length === 0) return null;
  return (
    <span class="figures" title={details.join('\n')}>
      {parts.join(' · ')}
      <span class="off-screen">, {details.join(', ')}</span>
    </span>
  );
}
