// SPDX-License-Identifier: MIT
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { changeTree, current, currentId, path, saveSoon } from '../chat/app';
import { busy, edit, goOn, regenerate, running, writtenNode } from '../chat/generation';
import { alternatives, removeNode, show, type MessageNode } from '../chat/tree';
import { copyText } from './clipboard';
import { Icon, IconButton } from './Icon';
import { Markdown } from './Markdown';
import { memo } from './memo';
import { Figures } from './Figures';
import { Thought } from './Thought';
import { ToolCallCard } from './ToolCallCard';

function Editor({ node, onDone }: { node: MessageNode; onDone: () => void }) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current!.focus();
    field.current!.setSelectionRange(node.content.length, node.content.length);
  }, []);
  const save = () => {
    const text = field.current!.value;
    onDone();
    if (text.trim()) edit(node.id, text);
  };
  return (
    <div class="editor">
      <textarea
        ref={field}
        aria-label="Edit the message"
        defaultValue={node.content}
        rows={Math.min(16, node.content.split('\n').length + 1)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save();
          if (event.key === 'Escape') {
            event.stopPropagation();
            onDone();
          }
        }}
      />
      <div class="editor-actions">
        <button type="button" class="primary" onClick={save}>
          {node.role === 'user' ? 'Send as a new branch' : 'Keep as a new branch'}
        </button>
        <button type="button" onClick={onDone}>
          Cancel
        </button>
      </div>
    </div>
  );
}

function Branches({ node }: { node: MessageNode }) {
  const conversation = current.value;
  const { ids, index } = alternatives(conversation.tree, node.id);
  if (ids.length < 2) return null;
  const go = (by: number) => {
    changeTree(conversation.id, (tree) => show(tree, ids[index + by]!));
    saveSoon();
  };
  return (
    <span class="branches" role="group" aria-label="Branches">
      <IconButton icon="back" label="Previous branch" disabled={index === 0} onClick={() => go(-1)} />
      <span class="branch-number">
        {index + 1}/{ids.length}
      </span>
      <IconButton icon="next" label="Next branch" disabled={index === ids.length - 1} onClick={() => go(1)} />
    </span>
  );
}

function Failure({ node }: { node: MessageNode }) {
  const error = node.error!;
  return (
    <div class="failure" role="alert">
      <p>{error.message}</p>
      {error.retryAfter && <p class="quiet">The server suggests to try again in {error.retryAfter} s.</p>}
      <button type="button" onClick={() => regenerate(node.id)}>
        <Icon name="again" /> Try again
      </button>
    </div>
  );
}

function Actions({ node, last, onEdit }: { node: MessageNode; last: boolean; onEdit: () => void }) {
  // Also when the page was closed, or the connection broke, while it was written.
  const cut = node.finish !== 'stop' && node.finish !== 'tool_calls' && !node.edited;
  return (
    <div class="actions">
      <Branches node={node} />
      {node.content && <IconButton icon="copy" label="Copy" onClick={() => void copyText(node.content)} />}
      {node.content && <IconButton icon="edit" label="Edit" disabled={busy.value} onClick={onEdit} />}
      {node.role === 'assistant' && !node.error && (
        <IconButton icon="again" label="Regenerate" disabled={busy.value} onClick={() => regenerate(node.id)} />
      )}
      {node.role === 'assistant' && last && cut && node.content && (
        <IconButton icon="forward" label="Continue" disabled={busy.value} onClick={() => goOn(node.id)} />
      )}
      <IconButton
        icon="trash"
        label="Delete from here"
        disabled={busy.value}
        onClick={() => {
          const shown = path.value;
          const following = shown.length - 1 - shown.indexOf(node);
          if (following > 1 && !confirm('Delete this message and all that follows?')) return;
          changeTree(currentId.value, (tree) => removeNode(tree, node.id));
          saveSoon();
        }}
      />
      {node.role === 'assistant' && <Figures node={node} />}
    </div>
  );
}

const kNames = { user: 'You', assistant: 'Model', tool: 'Tool' };

export const Message = memo(function Message({ node, last }: { node: MessageNode; last: boolean }) {
  const editing = useSignal(false);
  const writing = writtenNode.value === node.id;
  if (node.role === 'tool') return null; // shown in the card of its call
  return (
    <article class={`message ${node.role}`} aria-label={kNames[node.role]}>
      {node.reasoning && <Thought node={node} open={writing && !node.content && !node.toolCalls?.length} />}
      {editing.value ? (
        <Editor node={node} onDone={() => (editing.value = false)} />
      ) : node.role === 'user' ? (
        <div class="said">
          {node.attachments?.map((file) => (
            <details key={file.name} class="attached">
              <summary>{file.name}</summary>
              <pre tabIndex={0}>{file.text}</pre>
            </details>
          ))}
          {node.content}
        </div>
      ) : (
        <Markdown text={node.content} />
      )}
      {node.toolCalls?.map((call) => (
        <ToolCallCard key={call.id} call={call} node={node} writing={writing} />
      ))}
      {writing && !node.content && !node.toolCalls?.length && !node.reasoning && <Waiting />}
      {node.error && <Failure node={node} />}
      {node.finish === 'length' && !writing && <p class="quiet">The answer was cut: it reached its longest length.</p>}
      {!editing.value && !writing && <Actions node={node} last={last} onEdit={() => (editing.value = true)} />}
    </article>
  );
});

function Waiting() {
  const progress = running.value?.promptProgress;
  return (
    <p class="waiting">
      <span class="dot" /> {progress ? `Reading, ${progress.done} of ${progress.total} tokens` : 'Reading…'}
    </p>
  );
}
