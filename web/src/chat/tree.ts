// SPDX-License-Identifier: MIT
import type { StreamError } from '../api/chat_stream';
import type { FinishReason, Timings, ToolCall, Usage } from '../api/types';

export type Role = 'user' | 'assistant' | 'tool';

/** A text file that goes with a message. */
export interface Attachment {
  name: string;
  text: string;
}

/** One message. Alternatives to a message are its siblings: other children of the same parent. */
export interface MessageNode {
  id: string;
  /** null: the first message of a conversation. */
  parent: string | null;
  role: Role;
  content: string;
  created: number;
  attachments?: Attachment[];
  reasoning?: string;
  /** Milliseconds spent in the thought. */
  reasoningMs?: number;
  toolCalls?: ToolCall[];
  /** role tool: the call that this answers. */
  toolCallId?: string;
  toolName?: string;
  model?: string;
  finish?: FinishReason | 'stopped';
  usage?: Usage;
  timings?: Timings;
  seed?: number;
  error?: StreamError;
  /** The text was changed by hand after it was generated. */
  edited?: boolean;
}

/** Messages by id, and for each parent ('' = none) its children in order and which of them is shown. */
export interface MessageTree {
  nodes: Record<string, MessageNode>;
  children: Record<string, string[]>;
  shown: Record<string, string>;
}

const kRoot = '';

export function emptyTree(): MessageTree {
  return { nodes: {}, children: {}, shown: {} };
}

function childrenOf(tree: MessageTree, parent: string | null): string[] {
  return tree.children[parent ?? kRoot] ?? [];
}

/** The messages shown, from the first to the last. */
export function shownPath(tree: MessageTree): MessageNode[] {
  const path: MessageNode[] = [];
  for (let at = tree.shown[kRoot]; at !== undefined; at = tree.shown[at]) {
    const node = tree.nodes[at];
    if (!node) break;
    path.push(node);
  }
  return path;
}

/** The messages from the first one to `id`, which need not be shown. */
export function pathTo(tree: MessageTree, id: string | null): MessageNode[] {
  const path: MessageNode[] = [];
  for (let at = id; at !== null; ) {
    const node = tree.nodes[at];
    if (!node) break;
    path.unshift(node);
    at = node.parent;
  }
  return path;
}

/** Adds `node` as the last alternative under its parent, and shows it. Returns a new tree. */
export function addNode(tree: MessageTree, node: MessageNode): MessageTree {
  const parent = node.parent ?? kRoot;
  return {
    nodes: { ...tree.nodes, [node.id]: node },
    children: { ...tree.children, [parent]: [...childrenOf(tree, node.parent), node.id] },
    shown: { ...tree.shown, [parent]: node.id },
  };
}

export function updateNode(tree: MessageTree, id: string, change: Partial<MessageNode>): MessageTree {
  const node = tree.nodes[id];
  if (!node) return tree;
  return { ...tree, nodes: { ...tree.nodes, [id]: { ...node, ...change } } };
}

/** Alternatives at the place of `id`, and which of them it is, counted from 0. */
export function alternatives(tree: MessageTree, id: string): { ids: string[]; index: number } {
  const ids = childrenOf(tree, tree.nodes[id]?.parent ?? null);
  return { ids, index: ids.indexOf(id) };
}

/** Shows `id` in place of its sibling. Deeper choices made earlier stay as they were. */
export function show(tree: MessageTree, id: string): MessageTree {
  const node = tree.nodes[id];
  if (!node) return tree;
  return { ...tree, shown: { ...tree.shown, [node.parent ?? kRoot]: id } };
}

/** Removes `id` and all that follows it; shows the neighbouring alternative, if there is one. */
export function removeNode(tree: MessageTree, id: string): MessageTree {
  const node = tree.nodes[id];
  if (!node) return tree;
  const parent = node.parent ?? kRoot;
  const { ids, index } = alternatives(tree, id);
  const rest = ids.filter((other) => other !== id);
  const next: MessageTree = { nodes: { ...tree.nodes }, children: { ...tree.children }, shown: { ...tree.shown } };
  if (rest.length > 0) next.children[parent] = rest;
  else delete next.children[parent];
  if (next.shown[parent] === id) {
    const neighbour = rest[Math.min(index, rest.length - 1)];
    if (neighbour !== undefined) next.shown[parent] = neighbour;
    else delete next.shown[parent];
  }
  const doomed = [id];
  for (let at = doomed.pop(); at !== undefined; at = doomed.pop()) {
    doomed.push(...childrenOf(next, at));
    delete next.nodes[at];
    delete next.children[at];
    delete next.shown[at];
  }
  return next;
}

/** What is wrong with a tree that was read from a file; undefined when nothing is. */
export function treeProblem(tree: MessageTree): string | undefined {
  for (const [parent, ids] of Object.entries(tree.children)) {
    if (parent !== kRoot && !tree.nodes[parent]) return `children of an unknown message ${parent}`;
    for (const id of ids) {
      const node = tree.nodes[id];
      if (!node) return `an unknown message ${id}`;
      if ((node.parent ?? kRoot) !== parent) return `message ${id} has two parents`;
    }
  }
  for (const [parent, id] of Object.entries(tree.shown))
    if (!tree.children[parent]?.includes(id)) return `message ${id} shown at a place where it is not`;
  let reached = 0;
  const open = [...(tree.children[kRoot] ?? [])];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    reached += 1;
    open.push(...(tree.children[at] ?? []));
  }
  if (reached !== Object.keys(tree.nodes).length) return 'messages that belong to no branch';
  return undefined;
}
