// SPDX-License-Identifier: MIT
import { batch, computed, effect, signal } from '@preact/signals';
import type { Answer } from '../api/chat_stream';
import { streamChat } from '../api/client';
import type { ChatRequest } from '../api/types';
import { apiKey, changeTree, conversations, current, modelId, needsKey, refreshServer, saveSoon, spoken } from './app';
import { newId, openCalls } from './conversation';
import { chatRequest, continuationRequest } from './request';
import { addNode, pathTo, shownPath, updateNode, type Attachment, type MessageNode } from './tree';

/** An answer that is arriving. */
export interface Running {
  conversation: string;
  node: string;
  abort: AbortController;
  started: number;
  /** Since when text arrives, and how many pieces of it: the speed until the server tells it exactly. */
  firstPiece?: number;
  pieces: number;
  promptProgress?: { done: number; total: number };
}

export const running = signal<Running | null>(null);
// Apart from `running`, which changes with every piece.
export const busy = computed(() => running.value !== null);
export const writtenNode = computed(() => running.value?.node);

/** An answer whose conversation is deleted stops. */
effect(() => {
  const now = running.value;
  if (now && !conversations.value.some((one) => one.id === now.conversation)) now.abort.abort();
});

function freshNode(role: MessageNode['role'], parent: string | null, content: string): MessageNode {
  return { id: newId(), parent, role, content, created: Date.now() };
}

/** Sends what the user wrote after the shown messages. */
export function send(text: string, attachments: Attachment[] = []): void {
  if (running.value || (text.trim() === '' && attachments.length === 0)) return;
  const conversation = current.value;
  const last = shownPath(conversation.tree).at(-1);
  const node = freshNode('user', last?.id ?? null, text);
  if (attachments.length > 0) node.attachments = attachments;
  changeTree(conversation.id, (tree) => addNode(tree, node));
  answer(conversation.id, node.id);
}

/** Another answer beside `id`, an answer. */
export function regenerate(id: string): void {
  const conversation = current.value;
  const node = conversation.tree.nodes[id];
  if (!running.value && node && node.parent !== null) answer(conversation.id, node.parent);
}

/** An edited message becomes a new branch: a user's is answered anew, an answer's own text is kept as it is. */
export function edit(id: string, content: string): void {
  const conversation = current.value;
  const node = conversation.tree.nodes[id];
  if (running.value || !node || content === node.content) return;
  const copy = { ...freshNode(node.role, node.parent, content), ...(node.role === 'assistant' ? kept(node) : { attachments: node.attachments }) };
  changeTree(conversation.id, (tree) => addNode(tree, copy));
  if (node.role === 'user') answer(conversation.id, copy.id);
  else saveSoon();
}

function kept(node: MessageNode): Partial<MessageNode> {
  return { reasoning: node.reasoning, toolCalls: node.toolCalls, model: node.model, edited: true };
}

/** Goes on with an answer that was cut by its length or stopped. */
export function goOn(id: string): void {
  const conversation = current.value;
  if (running.value) return;
  const path = pathTo(conversation.tree, id);
  void run(conversation.id, id, continuationRequest(path, conversation.settings, modelId.value));
}

/** Results of tool calls, typed by the user. When all calls of the answer have one, the model goes on. */
export function giveToolResult(callId: string, result: string): void {
  const conversation = current.value;
  const open = openCalls(conversation.tree);
  const call = open?.assistant.toolCalls?.find((one) => one.id === callId);
  if (running.value || !open || !call) return;
  const last = shownPath(conversation.tree).at(-1)!;
  const node = { ...freshNode('tool', last.id, result), toolCallId: callId, toolName: call.name };
  changeTree(conversation.id, (tree) => addNode(tree, node));
  if (open.ids.length === 1) answer(conversation.id, node.id);
}

export function stop(): void {
  running.value?.abort.abort();
}

function answer(conversationId: string, parent: string): void {
  const conversation = conversations.value.find((one) => one.id === conversationId);
  if (!conversation) return;
  const node = freshNode('assistant', parent, '');
  const request = chatRequest(pathTo(conversation.tree, parent), conversation.settings, modelId.value);
  changeTree(conversationId, (tree) => addNode(tree, node));
  void run(conversationId, node.id, request);
}

async function run(conversation: string, node: string, request: ChatRequest): Promise<void> {
  const abort = new AbortController();
  const before = conversations.value.find((one) => one.id === conversation)?.tree.nodes[node];
  running.value = { conversation, node, abort, started: Date.now(), pieces: 0 };
  spoken.value = 'The answer is being written.';
  let painting = 0;
  let latest: Answer | undefined;
  let thoughtEnd: number | undefined;
  const paint = () => {
    painting = 0;
    const now = running.value;
    if (!latest || !now || now.abort !== abort) return;
    const seen = latest;
    batch(() => {
      running.value = { ...now, pieces: seen.pieces, firstPiece: now.firstPiece ?? (seen.pieces > 0 ? Date.now() : undefined), promptProgress: seen.promptProgress };
      changeTree(conversation, (tree) => updateNode(tree, node, shape(seen)));
    });
  };
  const shape = (seen: Answer): Partial<MessageNode> => {
    if (seen.reasoning && (seen.content || seen.toolCalls.length)) thoughtEnd ??= Date.now();
    const started = running.value?.firstPiece ?? Date.now();
    return {
      content: (before?.content ?? '') + seen.content,
      reasoning: ((before?.reasoning ?? '') + seen.reasoning) || undefined,
      reasoningMs: seen.reasoning ? (thoughtEnd ?? Date.now()) - started : before?.reasoningMs,
      toolCalls: seen.toolCalls.length ? seen.toolCalls.filter(Boolean).map((call) => ({ ...call })) : before?.toolCalls,
      model: seen.model,
      usage: seen.usage,
      timings: seen.timings,
      seed: seen.seed,
      error: seen.error,
    };
  };
  const onChange = (seen: Answer) => {
    latest = seen;
    // Once per frame; a page in the background gets no frames, so it is painted when the answer ends.
    painting ||= requestAnimationFrame(paint);
  };
  changeTree(conversation, (tree) => updateNode(tree, node, { error: undefined, finish: undefined }));
  const result = await streamChat(request, { key: apiKey.value, signal: abort.signal, onChange });
  cancelAnimationFrame(painting);
  const stopped = abort.signal.aborted;
  batch(() => {
    changeTree(conversation, (tree) =>
      updateNode(tree, node, { ...shape(result), finish: stopped ? 'stopped' : result.finish }),
    );
    running.value = null;
  });
  if (result.error?.status === 401) needsKey.value = true;
  // Shows why, and when the server is back.
  if (result.error && (result.error.status === undefined || result.error.status === 503)) void refreshServer();
  spoken.value = result.error ? `Error: ${result.error.message}` : stopped ? 'Stopped.' : 'The answer is complete.';
  saveSoon();
}
