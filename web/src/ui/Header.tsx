// SPDX-License-Identifier: MIT
import { current, model, models, modelId, startConversation, theme, type Theme } from '../chat/app';
import { Icon, IconButton, type IconName } from './Icon';
import { focusComposer, openDialog, settingsOpen, sidebarOpen } from './view';

const kThemes: Record<Theme, { next: Theme; icon: IconName; label: string }> = {
  auto: { next: 'light', icon: 'auto', label: 'Colours follow the system; switch to light' },
  light: { next: 'dark', icon: 'sun', label: 'Light colours; switch to dark' },
  dark: { next: 'auto', icon: 'moon', label: 'Dark colours; follow the system' },
};

export function Header() {
  const look = kThemes[theme.value];
  return (
    <header class="top">
      <IconButton
        icon="menu"
        label="Conversations"
        expanded={sidebarOpen.value}
        onClick={() => (sidebarOpen.value = !sidebarOpen.value)}
      />
      <IconButton
        icon="plus"
        label="New chat"
        class="only-narrow"
        onClick={() => {
          startConversation();
          focusComposer.value += 1;
        }}
      />
      <h1 title={current.value.title}>{current.value.title}</h1>
      {models.value.length > 1 ? (
        <select
          class="model-choice"
          aria-label="Model"
          value={model.value?.id}
          onChange={(event) => (modelId.value = event.currentTarget.value)}
        >
          {models.value.map((one) => (
            <option key={one.id} value={one.id}>
              {one.id}
            </option>
          ))}
        </select>
      ) : null}
      <button
        type="button"
        class="model-button"
        aria-label={`About the model ${model.value?.id ?? ''}`}
        onClick={() => (openDialog.value = 'model')}
      >
        <Icon name="info" />
        <span>{models.value.length > 1 ? 'Info' : (model.value?.id ?? 'no model')}</span>
      </button>
      <IconButton icon={look.icon} label={look.label} onClick={() => (theme.value = look.next)} />
      <IconButton
        icon="sliders"
        label="Settings of this chat"
        expanded={settingsOpen.value}
        onClick={() => (settingsOpen.value = !settingsOpen.value)}
      />
    </header>
  );
}
