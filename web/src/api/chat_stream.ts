// SPDX-License-Identifier: MIT
import type { SseItem } from './sse';
import type { FinishReason, Timings, ToolCall, Usage } from './types';

/** An answer as far as it has arrived. */
export interface Answer {
  content: string;
  reasoning: string;
  toolCalls: ToolCall[];
  finish?: FinishReason;
  usage?: Usage;
  timings?: Timings;
  seed?: number;
  model?: string;
  /** Pieces of text that arrived: a lower bound of the generated tokens. */
  pieces: number;
  /** Prompt tokens evaluated and in all, while the prompt is read. */
  promptProgress?: { done: number; total: number };
  /** The stream's own end mark arrived. */
  complete: boolean;
  error?: StreamError;
}

export interface StreamError {
  message: string;
  type?: string;
  code?: string | null;
  status?: number;
  /** Seconds after which the server suggests to try again. */
  retryAfter?: number;
}

export function emptyAnswer(): Answer {
  return { content: '', reasoning: '', toolCalls: [], pieces: 0, complete: false };
}

interface Delta {
  content?: string | null;
  reasoning_content?: string | null;
  reasoning?: string | null;
  tool_calls?: { index?: number; id?: string; function?: { name?: string; arguments?: string } }[];
}

interface Chunk {
  model?: string;
  choices?: { delta?: Delta; finish_reason?: FinishReason | null }[];
  usage?: Usage | null;
  lanner?: { seed?: number; timings?: Timings };
  error?: StreamError;
}

/** Adds one event of a chat completion stream to `answer`. Never throws: an unreadable event becomes its error. */
export function addStreamItem(answer: Answer, item: SseItem): void {
  if (item.kind === 'comment') {
    const progress = /^keepalive (\d+)\/(\d+)$/.exec(item.text);
    if (progress) answer.promptProgress = { done: Number(progress[1]), total: Number(progress[2]) };
    return;
  }
  if (item.data.trim() === '[DONE]') {
    answer.complete = true;
    return;
  }
  let chunk: Chunk;
  try {
    chunk = JSON.parse(item.data) as Chunk;
  } catch {
    answer.error = { message: `The server sent an event that is not JSON: ${item.data.slice(0, 80)}` };
    return;
  }
  if (chunk.error) answer.error = chunk.error;
  if (chunk.model) answer.model = chunk.model;
  if (chunk.usage) answer.usage = chunk.usage;
  if (chunk.lanner?.timings) answer.timings = chunk.lanner.timings;
  if (chunk.lanner?.seed !== undefined) answer.seed = chunk.lanner.seed;
  const choice = chunk.choices?.[0];
  if (!choice) return;
  if (choice.delta) addDelta(answer, choice.delta);
  if (choice.finish_reason) answer.finish = choice.finish_reason;
}

function addDelta(answer: Answer, delta: Delta): void {
  // A server may send a thought under both names; they are the same text.
  const reasoning = delta.reasoning_content ?? delta.reasoning;
  if (reasoning) answer.reasoning += reasoning;
  if (delta.content) answer.content += delta.content;
  for (const part of delta.tool_calls ?? []) {
    const index = part.index ?? answer.toolCalls.length;
    const call = (answer.toolCalls[index] ??= { id: '', name: '', arguments: '' });
    if (part.id) call.id = part.id;
    if (part.function?.name) call.name += part.function.name;
    if (part.function?.arguments) call.arguments += part.function.arguments;
  }
  if (reasoning || delta.content || delta.tool_calls?.length) {
    answer.pieces += 1;
    delete answer.promptProgress;
  }
}
