// SPDX-License-Identifier: MIT
import { fenced, withAttachments } from './attachments';
import { kDefaultSettings, type ChatSettings } from './settings';
import { emptyTree, pathTo, shownPath, treeProblem, type MessageNode, type MessageTree } from './tree';

export interface Conversation {
  id: string;
  title: string;
  /** The title was chosen by the user, so it no longer follows the first message. */
  titled: boolean;
  created: number;
  updated: number;
  settings: ChatSettings;
  tree: MessageTree;
}

export function newId(): string {
  // Not crypto.randomUUID: browsers offer it to secure contexts only, and the page may be served over plain HTTP.
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function newConversation(settings: ChatSettings, now: number): Conversation {
  return {
    id: newId(),
    title: 'New chat',
    titled: false,
    created: now,
    updated: now,
    settings: structuredClone(settings),
    tree: emptyTree(),
  };
}

/** A title of at most 60 characters from a first message. */
export function titleFrom(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  if (line === '') return 'New chat';
  const characters = Array.from(line);
  return characters.length <= 60 ? line : characters.slice(0, 59).join('') + '…';
}

/** Tool calls of the last shown message that have no result yet. */
export function openCalls(tree: MessageTree): { assistant: MessageNode; ids: string[] } | undefined {
  const path = shownPath(tree);
  const answered = new Set<string>();
  for (let i = path.length - 1; i >= 0; --i) {
    const node = path[i]!;
    if (node.role === 'tool') {
      answered.add(node.toolCallId ?? '');
      continue;
    }
    if (node.role !== 'assistant' || !node.toolCalls?.length) return undefined;
    const ids = node.toolCalls.map((call) => call.id).filter((id) => !answered.has(id));
    return ids.length > 0 ? { assistant: node, ids } : undefined;
  }
  return undefined;
}

/** Tokens the shown messages take in the context, as the server last counted them. */
export function usedTokens(tree: MessageTree): number | undefined {
  const path = shownPath(tree);
  for (let i = path.length - 1; i >= 0; --i) {
    const usage = path[i]!.usage;
    if (usage) return usage.total_tokens;
  }
  return undefined;
}

const kFormat = 'lanner-conversations';

export function exportJson(conversations: Conversation[]): string {
  return JSON.stringify({ format: kFormat, version: 1, conversations }, null, 1) + '\n';
}

/** Reads what exportJson wrote. Throws Error with what is wrong. */
export function importJson(text: string): Conversation[] {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new Error(`The file is not JSON: ${(error as Error).message}`);
  }
  const { format, version, conversations } = (file ?? {}) as Record<string, unknown>;
  if (format !== kFormat || !Array.isArray(conversations))
    throw new Error('The file does not hold conversations exported from this page.');
  if (version !== 1) throw new Error(`The file has version ${String(version)}; this page reads version 1.`);
  return conversations.map((item, index) => checked(item, index + 1));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checked(value: unknown, number: number): Conversation {
  const fail = (what: string): never => {
    throw new Error(`Conversation ${number}: ${what}.`);
  };
  if (!isRecord(value) || !isText(value['id']) || !isText(value['title'])) return fail('id or title is missing');
  const tree = value['tree'];
  if (!isRecord(tree) || !isRecord(tree['nodes']) || !isRecord(tree['children']) || !isRecord(tree['shown']))
    return fail('its messages are missing');
  for (const ids of Object.values(tree['children'])) if (!Array.isArray(ids)) return fail('a list of messages is broken');
  for (const [id, node] of Object.entries(tree['nodes'])) {
    if (!isRecord(node) || node['id'] !== id || !isText(node['content'])) return fail(`message ${id} is broken`);
    if (!['user', 'assistant', 'tool'].includes(String(node['role']))) return fail(`message ${id} has an unknown role`);
    const files = node['attachments'];
    if (files !== undefined && !(Array.isArray(files) && files.every((file) => isRecord(file) && isText(file['name']) && isText(file['text']))))
      return fail(`message ${id} has broken attachments`);
    if (node['parent'] !== null && !isText(node['parent'])) return fail(`message ${id} has a broken parent`);
  }
  const problem = treeProblem(tree as unknown as MessageTree);
  if (problem) return fail(problem);
  const settings = isRecord(value['settings']) ? value['settings'] : {};
  const usable = Object.entries(settings).filter(([name, setting]) => {
    const standard = kDefaultSettings[name as keyof ChatSettings];
    if (name === 'thinkingBudget') return typeof setting === 'number';
    return Array.isArray(standard) ? Array.isArray(setting) && setting.every(isText) : typeof setting === typeof standard && setting !== null;
  });
  const time = (name: string) => (typeof value[name] === 'number' ? (value[name] as number) : 0);
  return {
    id: value['id'],
    title: value['title'],
    titled: value['titled'] === true,
    created: time('created'),
    updated: time('updated'),
    settings: { ...structuredClone(kDefaultSettings), ...(Object.fromEntries(usable) as Partial<ChatSettings>) },
    tree: tree as unknown as MessageTree,
  };
}

/** The shown branch as a Markdown document. */
export function exportMarkdown(conversation: Conversation): string {
  const parts = [`# ${conversation.title}`];
  if (conversation.settings.system.trim()) parts.push(`## System\n\n${conversation.settings.system.trim()}`);
  const last = shownPath(conversation.tree).at(-1);
  for (const node of pathTo(conversation.tree, last?.id ?? null)) {
    const name = { user: 'User', assistant: 'Assistant', tool: `Tool result: ${node.toolName ?? ''}` }[node.role];
    const body = [`## ${name}`];
    if (node.reasoning) body.push(node.reasoning.trim().replace(/^/gm, '> '));
    if (node.content || node.attachments) body.push(node.role === 'tool' ? fenced(node.content, '') : withAttachments(node.content.trim(), node.attachments));
    for (const call of node.toolCalls ?? []) body.push(`Call of \`${call.name}\`:\n\n${fenced(call.arguments, 'json')}`);
    parts.push(body.join('\n\n'));
  }
  return parts.join('\n\n') + '\n';
}
