// SPDX-License-Identifier: MIT
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import {
  conversations, current, currentId, exportAll, importFile, lasting, openConversation, removeAll, removeConversation, rename,
  startConversation,
} from '../chat/app';
import { exportJson, exportMarkdown, type Conversation } from '../chat/conversation';
import { running } from '../chat/generation';
import { shownPath } from '../chat/tree';
import { download } from './clipboard';
import { Icon, IconButton } from './Icon';
import { focusComposer, isNarrow, openDialog, sidebarOpen } from './view';

function fileName(title: string, extension: string): string {
  const name = title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 40);
  return `${name || 'chat'}.${extension}`;
}

function leave(): void {
  if (isNarrow()) sidebarOpen.value = false;
  focusComposer.value += 1;
}

function Entry({ one }: { one: Conversation }) {
  const editing = useSignal(false);
  if (editing.value)
    return (
      <li>
        <input
          class="rename"
          aria-label="Title"
          defaultValue={one.title}
          ref={(field) => field?.focus()}
          onBlur={(event) => {
            rename(one.id, event.currentTarget.value);
            editing.value = false;
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') event.currentTarget.blur();
            if (event.key !== 'Escape') return;
            event.stopPropagation();
            editing.value = false;
          }}
        />
      </li>
    );
  return (
    <li class={one.id === currentId.value ? 'current' : ''}>
      <button
        type="button"
        class="entry"
        aria-current={one.id === currentId.value ? 'page' : undefined}
        title={one.title}
        onClick={() => {
          openConversation(one.id);
          leave();
        }}
        onDblClick={() => (editing.value = true)}
      >
        {running.value?.conversation === one.id && <span class="dot" aria-label="answer is being written" />}
        {one.title}
      </button>
      <span class="entry-actions">
        <IconButton icon="edit" label={`Rename ${one.title}`} onClick={() => (editing.value = true)} />
        <IconButton
          icon="trash"
          label={`Delete ${one.title}`}
          onClick={() => confirm(`Delete “${one.title}”?`) && void removeConversation(one.id)}
        />
      </span>
    </li>
  );
}

export function Sidebar() {
  const search = useSignal('');
  const file = useRef<HTMLInputElement>(null);
  if (!sidebarOpen.value) return null;
  const wanted = search.value.trim().toLowerCase();
  const found = conversations.value.filter(
    (one) =>
      wanted === '' ||
      one.title.toLowerCase().includes(wanted) ||
      Object.values(one.tree.nodes).some((node) => node.content.toLowerCase().includes(wanted)),
  );
  const empty = shownPath(current.value.tree).length === 0;
  return (
    <nav class="sidebar" aria-label="Conversations">
      <div class="sidebar-top">
        <button
          type="button"
          class="new-chat"
          onClick={() => {
            startConversation();
            leave();
          }}
        >
          <Icon name="plus" /> New chat
        </button>
        <IconButton icon="close" label="Close the list" class="only-narrow" onClick={() => (sidebarOpen.value = false)} />
      </div>
      <input
        type="search"
        placeholder="Search"
        aria-label="Search conversations"
        value={search.value}
        onInput={(event) => (search.value = event.currentTarget.value)}
      />
      <ul>
        {found.map((one) => (
          <Entry key={one.id} one={one} />
        ))}
      </ul>
      {found.length === 0 && <p class="quiet">{wanted ? 'Nothing found.' : 'Your chats will be listed here.'}</p>}
      <div class="sidebar-bottom">
        {!lasting.value && <p class="quiet">This browser keeps nothing: export what you need.</p>}
        <button
          type="button"
          disabled={empty}
          onClick={() => download(fileName(current.value.title, 'md'), 'text/markdown', exportMarkdown(current.value))}
        >
          <Icon name="download" /> This chat as Markdown
        </button>
        <button
          type="button"
          disabled={empty}
          onClick={() => download(fileName(current.value.title, 'json'), 'application/json', exportJson([current.value]))}
        >
          <Icon name="download" /> This chat as JSON
        </button>
        <button
          type="button"
          disabled={conversations.value.length === 0}
          onClick={() => download('lanner-chats.json', 'application/json', exportAll())}
        >
          <Icon name="download" /> All chats
        </button>
        <button type="button" onClick={() => file.current?.click()}>
          <Icon name="upload" /> Import
        </button>
        <input
          ref={file}
          type="file"
          accept=".json,application/json"
          aria-label="File to import"
          hidden
          onChange={async (event) => {
            const field = event.currentTarget;
            const chosen = field.files?.[0];
            if (chosen) importFile(await chosen.text());
            field.value = '';
          }}
        />
        <button
          type="button"
          disabled={conversations.value.length === 0}
          onClick={() => confirm('Delete every conversation kept in this browser?') && void removeAll()}
        >
          <Icon name="trash" /> Delete all
        </button>
        <button type="button" onClick={() => (openDialog.value = 'key')}>
          <Icon name="key" /> API key
        </button>
        <button type="button" onClick={() => (openDialog.value = 'shortcuts')}>
          <Icon name="keyboard" /> Keyboard
        </button>
      </div>
    </nav>
  );
}
