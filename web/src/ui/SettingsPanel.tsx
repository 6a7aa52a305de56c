// SPDX-License-Identifier: MIT
import { changeSettings, current, keepAsStart, model } from '../chat/app';
import { kDefaultSettings, kSamplingFields, parseExtra, parseTools, type SamplingField, type Thinking } from '../chat/settings';
import { IconButton } from './Icon';
import { settingsOpen } from './view';

function SamplingRow({ field }: { field: SamplingField }) {
  const sampling = current.value.settings.sampling;
  const value = sampling[field.name];
  const set = (text: string) => {
    const number = text === '' ? undefined : Number(text);
    if (number !== undefined && !Number.isFinite(number)) return;
    const next = { ...sampling, [field.name]: number };
    if (number === undefined) delete next[field.name];
    changeSettings({ sampling: next });
  };
  const id = `sampling-${field.name}`;
  return (
    <div class="row">
      <label for={id}>{field.label}</label>
      <input
        id={id}
        type="number"
        inputMode="decimal"
        min={field.min}
        max={field.max}
        step={field.step}
        placeholder="auto"
        aria-describedby={`${id}-hint`}
        value={value ?? ''}
        onInput={(event) => set(event.currentTarget.value)}
      />
      <p id={`${id}-hint`} class="hint">
        {field.hint}
      </p>
      {field.slider && (
        <input
          type="range"
          aria-label={`${field.label}, slider`}
          class={value === undefined ? 'unset' : ''}
          min={field.min}
          max={field.max}
          step={field.step}
          value={value ?? (field.min + field.max) / 2}
          onInput={(event) => set(event.currentTarget.value)}
        />
      )}
    </div>
  );
}

function JsonField(props: { name: 'tools' | 'extra'; label: string; hint: string; example: string; problem?: string }) {
  const id = `settings-${props.name}`;
  return (
    <div class="row tall">
      <label for={id}>{props.label}</label>
      <textarea
        id={id}
        rows={4}
        class="json"
        spellcheck={false}
        placeholder={props.example}
        aria-describedby={`${id}-hint`}
        aria-invalid={props.problem !== undefined}
        value={current.value.settings[props.name]}
        onInput={(event) => changeSettings({ [props.name]: event.currentTarget.value })}
      />
      <p id={`${id}-hint`} class={props.problem ? 'hint bad' : 'hint'}>
        {props.problem ? `Not sent: ${props.problem}` : props.hint}
      </p>
    </div>
  );
}

export function SettingsPanel() {
  const settings = current.value.settings;
  const tools = parseTools(settings.tools);
  const extra = parseExtra(settings.extra);
  return (
    <aside class="settings" aria-label="Settings of this chat">
      <header>
        <h2>This chat</h2>
        <IconButton icon="close" label="Close the settings" onClick={() => (settingsOpen.value = false)} />
      </header>
      <div class="row tall">
        <label for="system">System prompt</label>
        <textarea
          id="system"
          rows={5}
          placeholder="What the model should know or be, such as: Answer in one sentence."
          value={settings.system}
          onInput={(event) => changeSettings({ system: event.currentTarget.value })}
        />
      </div>
      <h3>Thinking</h3>
      <div class="row">
        <label for="thinking">Effort</label>
        <select
          id="thinking"
          value={settings.thinking}
          onChange={(event) => changeSettings({ thinking: event.currentTarget.value as Thinking })}
        >
          <option value="default">default</option>
          <option value="none">off</option>
          <option value="low">low</option>
          <option value="medium">medium</option>
          <option value="high">high</option>
        </select>
        {model.value?.reasoning === false && <p class="hint">This model has no thinking switch.</p>}
      </div>
      <div class="row">
        <label for="budget">Longest thought, tokens</label>
        <input
          id="budget"
          type="number"
          min={0}
          step={1}
          placeholder="auto"
          value={settings.thinkingBudget ?? ''}
          onInput={(event) => {
            const text = event.currentTarget.value;
            changeSettings({ thinkingBudget: text === '' ? undefined : Math.max(0, Math.round(Number(text))) });
          }}
        />
      </div>
      <h3>Sampling</h3>
      <p class="hint">An empty field leaves the choice to the server, which follows the model's own settings.</p>
      {kSamplingFields.map((field) => (
        <SamplingRow key={field.name} field={field} />
      ))}
      <div class="row tall">
        <label for="stop">Stop strings, one a line</label>
        <textarea
          id="stop"
          rows={2}
          value={settings.stop.join('\n')}
          onInput={(event) => changeSettings({ stop: event.currentTarget.value.split('\n').filter((line) => line !== '') })}
        />
      </div>
      <h3>Tools and more</h3>
      <JsonField
        name="tools"
        label="Tools"
        hint={tools.tools.length ? `${tools.tools.length} offered; you give the results of calls by hand.` : 'A JSON array of function tools.'}
        example={'[{"type": "function", "function": {"name": "weather", "parameters": {…}}}]'}
        problem={tools.problem}
      />
      <JsonField
        name="extra"
        label="Further request fields"
        hint="A JSON object, sent as it is: response_format, logit_bias, dry_multiplier and so on."
        example={'{"min_tokens": 10}'}
        problem={extra.problem}
      />
      <div class="settings-actions">
        <button type="button" onClick={() => keepAsStart(settings)}>
          Use for new chats
        </button>
        <button type="button" onClick={() => changeSettings({ ...structuredClone(kDefaultSettings), thinkingBudget: undefined })}>
          Reset
        </button>
      </div>
    </aside>
  );
}
