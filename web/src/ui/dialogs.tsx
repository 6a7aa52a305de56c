// SPDX-License-Identifier: MIT
import { useSignal } from '@preact/signals';
import { apiKey, model, serverVersion, setKey } from '../chat/app';
import { readLocal } from '../chat/storage';
import { Dialog } from './Dialog';
import { openDialog } from './view';

const close = () => (openDialog.value = null);

function Fact({ name, value }: { name: string; value: unknown }) {
  if (value === undefined || value === null || value === '') return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{String(value)}</dd>
    </>
  );
}

export function ModelDialog() {
  const one = model.value;
  const server = serverVersion.value;
  return (
    <Dialog title={one?.id ?? 'No model'} onClose={close}>
      <dl class="facts">
        <Fact name="Family" value={one?.family} />
        <Fact name="Context" value={one?.context_window && `${one.context_window.toLocaleString('en')} tokens`} />
        <Fact name="Longest answer" value={one?.max_output_tokens && `${one.max_output_tokens.toLocaleString('en')} tokens`} />
        <Fact name="Reads" value={one?.modalities?.input?.join(', ')} />
        <Fact name="Thinking" value={one?.reasoning === undefined ? undefined : one.reasoning ? 'yes' : 'no'} />
        <Fact name="Tools" value={one?.tools === undefined ? undefined : one.tools ? 'yes' : 'no'} />
        <Fact name="Quantization" value={typeof one?.quantization === 'object' ? JSON.stringify(one.quantization) : one?.quantization} />
        <Fact name="Adapter of" value={one?.parent} />
        <Fact name="Adapters" value={one?.adapters?.join(', ')} />
        <Fact name="Server" value={server.version && `lanner ${server.version}`} />
        <Fact name="Device" value={server.device} />
        <Fact name="Address" value={new URL('v1', document.baseURI).href} />
      </dl>
      <p class="quiet">
        This page stands on <a href="licenses.md" target="_blank">other people's libraries</a>.
      </p>
    </Dialog>
  );
}

export function KeyDialog() {
  const key = useSignal(apiKey.value);
  const keep = useSignal(readLocal('key') !== null);
  return (
    <Dialog title="API key" onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setKey(key.value.trim(), keep.value);
          close();
        }}
      >
        <p class="quiet">Only servers started with a key ask for one.</p>
        <input
          type="password"
          aria-label="API key"
          autocomplete="off"
          autofocus
          value={key.value}
          onInput={(event) => (key.value = event.currentTarget.value)}
        />
        <label class="check">
          <input type="checkbox" checked={keep.value} onChange={(event) => (keep.value = event.currentTarget.checked)} />
          Remember it in this browser
        </label>
        <div class="dialog-actions">
          <button type="submit" class="primary">
            Use this key
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const kShortcuts: [string[], string][] = [
  [['Enter'], 'send'],
  [['Shift', 'Enter'], 'a new line'],
  [['Esc'], 'stop the answer, or close what is open'],
  [['Ctrl', 'Enter'], 'send an edited message'],
  [['Alt', 'N'], 'new chat'],
  [['Alt', '↑'], 'the chat above'],
  [['Alt', '↓'], 'the chat below'],
  [['Alt', 'I'], 'to the message field'],
  [['Alt', 'B'], 'list of chats'],
  [['Alt', 'S'], 'settings of this chat'],
  [['Alt', 'K'], 'this list'],
];

export function ShortcutsDialog() {
  return (
    <Dialog title="Keyboard" onClose={close}>
      <dl class="facts">
        {kShortcuts.map(([keys, what]) => (
          <>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
    </Dialog>
  );
}
