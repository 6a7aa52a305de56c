// SPDX-License-Identifier: MIT
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { contextUse, current, currentId, say, server } from '../chat/app';
import { readAttachment } from '../chat/attachments';
import { openCalls } from '../chat/conversation';
import { busy, running, send, stop } from '../chat/generation';
import { liveSpeed } from '../chat/speed';
import type { Attachment } from '../chat/tree';
import { ContextMeter } from './ContextMeter';
import { Icon, IconButton } from './Icon';
import { focusComposer } from './view';

/** Unsent text and files of each conversation. */
const drafts = new Map<string, string>();
const draftFiles = new Map<string, Attachment[]>();

export function Composer() {
  const field = useRef<HTMLTextAreaElement>(null);
  const text = useSignal(drafts.get(currentId.value) ?? '');
  const files = useSignal<Attachment[]>(draftFiles.get(currentId.value) ?? []);
  const picker = useRef<HTMLInputElement>(null);
  const id = currentId.value;
  useEffect(() => {
    text.value = drafts.get(id) ?? '';
    files.value = draftFiles.get(id) ?? [];
  }, [id]);
  // Before the next key arrives: what follows a shortcut is typed into the field.
  useLayoutEffect(() => field.current?.focus(), [focusComposer.value]);
  useEffect(() => {
    const element = field.current!;
    element.style.height = 'auto';
    element.style.height = `${element.scrollHeight + 2}px`;
  }, [text.value]);

  const waits = openCalls(current.value.tree) !== undefined;
  const change = (value: string) => {
    text.value = value;
    drafts.set(id, value);
  };
  const setFiles = (value: Attachment[]) => {
    files.value = value;
    draftFiles.set(id, value);
  };
  const attach = async (list: FileList | undefined | null) => {
    for (const file of list ?? []) {
      try {
        setFiles([...files.value, await readAttachment(file)]);
      } catch (error) {
        say((error as Error).message, 'bad');
      }
    }
  };
  const empty = text.value.trim() === '' && files.value.length === 0;
  const submit = () => {
    if (busy.value || waits || empty) return;
    send(text.value, files.value);
    change('');
    setFiles([]);
  };
  return (
    <form
      class="composer"
      id="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer?.files);
      }}
    >
      {files.value.length > 0 && (
        <ul class="files" aria-label="Attached files">
          {files.value.map((file) => (
            <li key={file.name}>
              {file.name}
              <IconButton
                icon="close"
                label={`Remove ${file.name}`}
                onClick={() => setFiles(files.value.filter((other) => other !== file))}
              />
            </li>
          ))}
        </ul>
      )}
      <div class="composer-box">
        <IconButton icon="clip" label="Attach text files" onClick={() => picker.current?.click()} />
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={(event) => {
            const field = event.currentTarget;
            void attach(field.files).then(() => (field.value = ''));
          }}
        />
        <textarea
          ref={field}
          rows={1}
          aria-label="Message"
          placeholder={waits ? 'The tool call waits for its result' : 'Write a message'}
          value={text.value}
          onInput={(event) => change(event.currentTarget.value)}
          onPaste={(event) => {
            if (!event.clipboardData?.files.length) return;
            event.preventDefault();
            void attach(event.clipboardData.files);
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            submit();
          }}
        />
        {busy.value ? (
          <button type="button" class="round" aria-label="Stop" title="Stop (Esc)" onClick={stop}>
            <Icon name="stop" />
          </button>
        ) : (
          <button
            type="submit"
            class="round primary"
            aria-label="Send"
            title="Send (Enter)"
            disabled={waits || empty || server.value.status === 'loading'}
          >
            <Icon name="send" />
          </button>
        )}
      </div>
      <div class="composer-foot">
        <span class="keys">
          <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> starts a line
        </span>
        <Speed />
        <ContextMeter used={(contextUse.value.used ?? 0) + (running.value?.pieces ?? 0)} limit={contextUse.value.limit} />
      </div>
    </form>
  );
}

function Speed() {
  const now = running.value;
  if (!now) return null;
  const speed = liveSpeed(now.pieces, now.firstPiece, Date.now());
  return (
    <span class="speed" data-testid="speed">
      {speed ? `${speed.toFixed(1)} tokens/s` : now.pieces > 0 ? '…' : 'reading'}
    </span>
  );
}
