// SPDX-License-Identifier: MIT
import type { Conversation } from './conversation';

/** Where conversations are kept. */
export interface ConversationStorage {
  all(): Promise<Conversation[]>;
  put(conversation: Conversation): Promise<void>;
  remove(id: string): Promise<void>;
  clear(): Promise<void>;
  /** false: they are gone when the page is closed. */
  readonly lasting: boolean;
}

const kStore = 'conversations';

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the browser refused'));
  });
}

class BrowserStorage implements ConversationStorage {
  readonly lasting = true;
  constructor(private readonly database: IDBDatabase) {}

  private store(mode: IDBTransactionMode): IDBObjectStore {
    return this.database.transaction(kStore, mode).objectStore(kStore);
  }
  all = () => done(this.store('readonly').getAll() as IDBRequest<Conversation[]>);
  put = async (conversation: Conversation) => void (await done(this.store('readwrite').put(conversation)));
  remove = async (id: string) => void (await done(this.store('readwrite').delete(id)));
  clear = async () => void (await done(this.store('readwrite').clear()));
}

class MemoryStorage implements ConversationStorage {
  readonly lasting = false;
  private readonly kept = new Map<string, Conversation>();
  all = () => Promise.resolve([...this.kept.values()]);
  put = (conversation: Conversation) => Promise.resolve(void this.kept.set(conversation.id, conversation));
  remove = (id: string) => Promise.resolve(void this.kept.delete(id));
  clear = () => Promise.resolve(this.kept.clear());
}

/** The browser's database, or memory where it is not allowed (some private windows). */
export async function openStorage(): Promise<ConversationStorage> {
  try {
    const opening = indexedDB.open('lanner', 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(kStore, { keyPath: 'id' });
    return new BrowserStorage(await done(opening));
  } catch {
    return new MemoryStorage();
  }
}

/** Small facts about this browser: theme, key, settings of new chats. Storage may be forbidden; then they last as long as the page. */
export function readLocal(name: string): string | null {
  try {
    return localStorage.getItem(`lanner.${name}`);
  } catch {
    return null;
  }
}

export function writeLocal(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`lanner.${name}`);
    else localStorage.setItem(`lanner.${name}`, value);
  } catch {
    // nothing to do: the fact is still in memory
  }
}
