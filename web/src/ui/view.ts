// SPDX-License-Identifier: MIT
import { signal } from '@preact/signals';

export type DialogName = 'model' | 'key' | 'shortcuts';

/** Which parts of the page are open. On a narrow screen the side bar and the settings lie over the chat. */
export const openDialog = signal<DialogName | null>(null);
export const settingsOpen = signal(false);
export const sidebarOpen = signal(matchMedia('(min-width: 900px)').matches);
/** Increased when the text field should get the focus. */
export const focusComposer = signal(0);

export function isNarrow(): boolean {
  return matchMedia('(max-width: 899px)').matches;
}
