// SPDX-License-Identifier: MIT
import { useEffect } from 'preact/hooks';
import { conversations, currentId, needsKey, notice, openConversation, server, spoken, startConversation } from '../chat/app';
import { running, stop } from '../chat/generation';
import { Composer } from './Composer';
import { KeyDialog, ModelDialog, ShortcutsDialog } from './dialogs';
import { Header } from './Header';
import { Messages } from './Messages';
import { SettingsPanel } from './SettingsPanel';
import { Sidebar } from './Sidebar';
import { focusComposer, isNarrow, openDialog, settingsOpen, sidebarOpen } from './view';

function step(by: number): void {
  const ids = conversations.value.map((one) => one.id);
  const at = ids.indexOf(currentId.value);
  const next = ids[at + by];
  if (next) openConversation(next);
}

function onKey(event: KeyboardEvent): void {
  if (event.key === 'Escape' && !openDialog.value) {
    if (settingsOpen.value && (event.target as Element).closest?.('.settings')) settingsOpen.value = false;
    else if (running.value) stop();
    else if (settingsOpen.value) settingsOpen.value = false;
    else if (isNarrow()) sidebarOpen.value = false;
    return;
  }
  if (!event.altKey || event.ctrlKey || event.metaKey) return;
  const actions: Record<string, () => void> = {
    KeyN: () => {
      startConversation();
      focusComposer.value += 1;
    },
    KeyB: () => (sidebarOpen.value = !sidebarOpen.value),
    KeyS: () => (settingsOpen.value = !settingsOpen.value),
    KeyK: () => (openDialog.value = 'shortcuts'),
    KeyI: () => (focusComposer.value += 1),
    ArrowUp: () => step(-1),
    ArrowDown: () => step(1),
  };
  const action = actions[event.code];
  if (!action) return;
  event.preventDefault();
  action();
}

function Banner() {
  const state = server.value;
  if (needsKey.value)
    return (
      <div class="banner" role="status">
        This server asks for an API key.
        <button type="button" onClick={() => (openDialog.value = 'key')}>
          Enter the key
        </button>
      </div>
    );
  if (state.status === 'ok') return null;
  const percent = state.progress ? ` (${Math.round(state.progress * 100)}%)` : '';
  const text = {
    loading: `The model is being loaded${percent}…`,
    draining: 'The server is about to stop; it takes no new requests.',
    unreachable: 'The server does not answer. Trying again…',
  }[state.status];
  return (
    <div class="banner" role="status">
      {text}
    </div>
  );
}

export function App() {
  useEffect(() => {
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <div class={`page ${sidebarOpen.value ? 'with-sidebar' : ''} ${settingsOpen.value ? 'with-settings' : ''}`}>
      <a class="skip" href="#composer" onClick={(event) => { event.preventDefault(); focusComposer.value += 1; }}>
        Skip to the message field
      </a>
      <Sidebar />
      {sidebarOpen.value && <div class="shade for-sidebar" onClick={() => (sidebarOpen.value = false)} />}
      <main>
        <Header />
        <Banner />
        <Messages />
        <Composer />
      </main>
      {settingsOpen.value && <div class="shade for-settings" onClick={() => (settingsOpen.value = false)} />}
      {settingsOpen.value && <SettingsPanel />}
      {openDialog.value === 'model' && <ModelDialog />}
      {openDialog.value === 'key' && <KeyDialog />}
      {openDialog.value === 'shortcuts' && <ShortcutsDialog />}
      {notice.value && (
        <div class={`notice ${notice.value.tone}`} role={notice.value.tone === 'bad' ? 'alert' : 'status'}>
          {notice.value.text}
        </div>
      )}
      <div class="off-screen" role="status" aria-live="polite">
        {spoken.value}
      </div>
    </div>
  );
}
