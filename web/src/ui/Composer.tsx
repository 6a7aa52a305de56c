// SPDX-License-Identifier: MIT
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { contextUse, current, currentId, server } from '../chat/app';
import { openCalls } from '../chat/conversation';
import { busy, running, send, stop } from '../chat/generation';
import { liveSpeed } from '../chat/speed';
import { ContextMeter } from './ContextMeter';
import { Icon } from './Icon';
import { focusComposer } from './view';

/** Unsent text of each conversation. */
const drafts = new Map<string, string>();

export function Composer() {
  const field = useRef<HTMLTextAreaElement>(null);
  const text = useSignal(drafts.get(currentId.value) ?? '');
  const id = currentId.value;
  useEffect(() => {
    text.value = drafts.get(id) ?? '';
  }, [id]);
  useEffect(() => field.current?.focus(), [focusComposer.value]);
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
  const submit = () => {
    if (busy.value || waits || text.value.trim() === '') return;
    send(text.value);
    change('');
  };
  return (
    <form
      class="composer"
      id="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div class="composer-box">
        <textarea
          ref={field}
          rows={1}
          aria-label="Message"
          placeholder={waits ? 'The model waits for the result of its tool call' : 'Write a message'}
          value={text.value}
          onInput={(event) => change(event.currentTarget.value)}
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
            disabled={waits || text.value.trim() === '' || server.value.status === 'loading'}
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
