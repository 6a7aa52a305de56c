// SPDX-License-Identifier: MIT
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { current, currentId, model, path } from '../chat/app';
import { busy, send } from '../chat/generation';
import { Icon } from './Icon';
import { Message } from './Message';

const kIdeas = ['Tell me a short story about a fox and a lantern.', 'Explain how a rainbow forms.', 'Write a haiku about autumn.'];

function Welcome() {
  return (
    <div class="welcome">
      <h2>What shall we talk about?</h2>
      <p class="quiet">{model.value ? `${model.value.id} runs on this server; what you write stays between it and this browser.` : ''}</p>
      <div class="ideas">
        {kIdeas.map((idea) => (
          <button key={idea} type="button" onClick={() => send(idea)}>
            {idea}
          </button>
        ))}
      </div>
    </div>
  );
}

/** The shown branch. It follows a growing answer for as long as the reader stays at its end. */
export function Messages() {
  const box = useRef<HTMLDivElement>(null);
  const follow = useRef(true);
  const [atEnd, setAtEnd] = useState(true);
  const shown = path.value;
  const last = shown.at(-1);

  const toEnd = () => {
    follow.current = true;
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  };
  useLayoutEffect(() => {
    if (follow.current) toEnd();
  });
  useEffect(toEnd, [currentId.value]);
  useEffect(() => {
    if (last?.role === 'user') toEnd();
  }, [last?.id]);

  const onScroll = () => {
    const element = box.current!;
    const end = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
    follow.current = end;
    setAtEnd(end);
  };
  return (
    <div class="messages-frame">
      <div class="messages" ref={box} onScroll={onScroll} role="log" aria-live="off" aria-label={`Chat: ${current.value.title}`} tabIndex={0}>
        {shown.length === 0 && !busy.value && <Welcome />}
        {shown.map((node) => (
          <Message key={node.id} node={node} last={node === last} />
        ))}
      </div>
      {!atEnd && (
        <button type="button" class="to-end" onClick={toEnd} aria-label="Go to the end" title="Go to the end">
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}
