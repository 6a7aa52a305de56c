// SPDX-License-Identifier: MIT
import { computed, effect, signal } from '@preact/signals';
import { health, listModels, version, type Health } from '../api/client';
import type { ModelInfo } from '../api/types';
import { exportJson, importJson, newConversation, newId, titleFrom, usedTokens, type Conversation } from './conversation';
import { kDefaultSettings, type ChatSettings } from './settings';
import { openStorage, readLocal, writeLocal, type ConversationStorage } from './storage';
import { shownPath, type MessageTree } from './tree';

// What the page knows. Views read signals; everything that changes them is a function of this folder.

export const conversations = signal<Conversation[]>([]);
/** Conversations that have messages are stored; `draft` is the new one that has none yet. */
export const draft = signal<Conversation>(newConversation(startSettings(), Date.now()));
export const currentId = signal<string>(draft.value.id);
export const models = signal<ModelInfo[]>([]);
export const modelId = signal<string>('');
export const server = signal<Health>({ status: 'ok' });
export const serverVersion = signal<{ version?: string; device?: string | null }>({});
export const needsKey = signal(false);
export const apiKey = signal<string>(readLocal('key') ?? '');
export const notice = signal<{ text: string; tone: 'good' | 'bad' } | null>(null);
/** Said by screen readers when it changes. */
export const spoken = signal('');
export const lasting = signal(true);

export type Theme = 'auto' | 'light' | 'dark';
export const theme = signal<Theme>((readLocal('theme') as Theme | null) ?? 'auto');

export const current = computed<Conversation>(
  () => conversations.value.find((one) => one.id === currentId.value) ?? draft.value,
);
export const path = computed(() => shownPath(current.value.tree));
export const model = computed<ModelInfo | undefined>(
  () => models.value.find((one) => one.id === modelId.value) ?? models.value[0],
);
export const contextUse = computed(() => ({ used: usedTokens(current.value.tree), limit: model.value?.context_window }));

let storage: ConversationStorage | undefined;
const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('lanner');

function startSettings(): ChatSettings {
  try {
    return { ...structuredClone(kDefaultSettings), ...(JSON.parse(readLocal('settings') ?? '{}') as Partial<ChatSettings>) };
  } catch {
    return structuredClone(kDefaultSettings);
  }
}

export function keepAsStart(settings: ChatSettings): void {
  writeLocal('settings', JSON.stringify(settings));
  say('New chats start with these settings.', 'good');
}

let noticeTimer: ReturnType<typeof setTimeout> | undefined;
export function say(text: string, tone: 'good' | 'bad'): void {
  notice.value = { text, tone };
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => (notice.value = null), tone === 'bad' ? 8000 : 3000);
}

// ---- conversations

const unsaved = new Set<string>();
let saving: ReturnType<typeof setTimeout> | undefined;

async function saveNow(): Promise<void> {
  clearTimeout(saving);
  saving = undefined;
  const ids = [...unsaved];
  unsaved.clear();
  try {
    for (const id of ids) {
      const one = conversations.value.find((other) => other.id === id);
      if (one) await storage?.put(one);
    }
    channel?.postMessage('changed');
  } catch (error) {
    say(`This browser did not keep the conversation: ${(error as Error).message}`, 'bad');
  }
}

/** Replaces a conversation, shows it at the top of the list and stores it within a second. */
export function store(conversation: Conversation): void {
  const rest = conversations.value.filter((one) => one.id !== conversation.id);
  conversations.value = [conversation, ...rest].sort((a, b) => b.updated - a.updated);
  unsaved.add(conversation.id);
  saving ??= setTimeout(() => void saveNow(), 700);
}

export function saveSoon(): void {
  if (unsaved.size > 0) void saveNow();
}

/** Changes the messages of the conversation `id`. */
export function changeTree(id: string, change: (tree: MessageTree) => MessageTree): void {
  const one = conversations.value.find((other) => other.id === id) ?? (draft.value.id === id ? draft.value : undefined);
  if (!one) return; // deleted while an answer was still arriving
  const tree = change(one.tree);
  const first = shownPath(tree)[0];
  store({ ...one, tree, updated: Date.now(), title: one.titled || !first ? one.title : titleFrom(first.content || (first.attachments?.[0]?.name ?? '')) });
}

export function changeSettings(change: Partial<ChatSettings>): void {
  const one = current.value;
  const settings = { ...one.settings, ...change };
  if (one.id === draft.value.id && !conversations.value.includes(one)) draft.value = { ...one, settings };
  else store({ ...one, settings });
}

export function openConversation(id: string): void {
  currentId.value = id;
}

export function startConversation(): void {
  draft.value = newConversation(startSettings(), Date.now());
  currentId.value = draft.value.id;
}

export function rename(id: string, title: string): void {
  const one = conversations.value.find((other) => other.id === id);
  if (one && title.trim()) store({ ...one, title: title.trim(), titled: true });
}

export async function removeConversation(id: string): Promise<void> {
  conversations.value = conversations.value.filter((one) => one.id !== id);
  if (currentId.value === id) startConversation();
  await storage?.remove(id);
  channel?.postMessage('changed');
}

export async function removeAll(): Promise<void> {
  conversations.value = [];
  startConversation();
  await storage?.clear();
  channel?.postMessage('changed');
}

export function exportAll(): string {
  return exportJson(conversations.value);
}

/** Adds the conversations of a file; one that is already here comes in as a copy. */
export function importFile(text: string): void {
  try {
    const added = importJson(text);
    const known = new Set(conversations.value.map((one) => one.id));
    for (const one of added) store(known.has(one.id) ? { ...one, id: newId(), title: `${one.title} (copy)`, titled: true } : one);
    if (added[0]) currentId.value = conversations.value[0]!.id;
    say(`${added.length} ${added.length === 1 ? 'conversation' : 'conversations'} imported.`, 'good');
  } catch (error) {
    say((error as Error).message, 'bad');
  }
}

async function loadConversations(): Promise<void> {
  const all = (await storage?.all()) ?? [];
  const mine = conversations.value.filter((one) => unsaved.has(one.id));
  const rest = all.filter((one) => !unsaved.has(one.id));
  conversations.value = [...mine, ...rest].sort((a, b) => b.updated - a.updated);
}

// ---- server

let serverTimer: ReturnType<typeof setTimeout> | undefined;

/** Asks the server how it is and what it serves, again and again until it is well. */
export async function refreshServer(): Promise<void> {
  clearTimeout(serverTimer);
  const state = await health();
  server.value = state;
  if (state.status !== 'ok') {
    clearTimeout(serverTimer);
    serverTimer = setTimeout(() => void refreshServer(), 1500);
    return;
  }
  try {
    models.value = await listModels(apiKey.value);
    needsKey.value = false;
  } catch (error) {
    const status = (error as { details?: { status?: number } }).details?.status;
    needsKey.value = status === 401 || status === 403;
    if (!needsKey.value) say((error as Error).message, 'bad');
    return;
  }
  serverVersion.value = await version(apiKey.value).catch(() => ({}));
}

export function setKey(key: string, keep: boolean): void {
  apiKey.value = key;
  writeLocal('key', keep && key ? key : null);
  void refreshServer();
}

export async function start(): Promise<void> {
  effect(() => {
    const choice = theme.value;
    writeLocal('theme', choice === 'auto' ? null : choice);
    if (choice === 'auto') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = choice;
  });
  effect(() => {
    document.title = current.value.title === 'New chat' ? 'lanner' : `${current.value.title} · lanner`;
  });
  addEventListener('pagehide', saveSoon);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') saveSoon();
  });
  channel?.addEventListener('message', () => void loadConversations());
  void refreshServer();
  storage = await openStorage();
  lasting.value = storage.lasting;
  await loadConversations();
}
