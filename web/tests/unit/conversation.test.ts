// SPDX-License-Identifier: MIT
import { describe, expect, it } from 'vitest';
import {
  exportJson, exportMarkdown, importJson, newConversation, openCalls, titleFrom, usedTokens, type Conversation,
} from '../../src/chat/conversation';
import { kDefaultSettings } from '../../src/chat/settings';
import { addNode, type MessageNode } from '../../src/chat/tree';

function talk(...nodes: Omit<MessageNode, 'id' | 'parent' | 'created'>[]): Conversation {
  const conversation = { ...newConversation(kDefaultSettings, 5), title: 'A talk' };
  nodes.forEach((node, index) => {
    const full: MessageNode = { ...node, id: `n${index}`, parent: index ? `n${index - 1}` : null, created: 0 };
    conversation.tree = addNode(conversation.tree, full);
  });
  return conversation;
}
const add = { id: 'c1', name: 'add', arguments: '{"x":1}' };
const now = { id: 'c2', name: 'now', arguments: '{}' };

describe('a conversation', () => {
  it('takes its title from the first words, never cutting a character', () => {
    expect(titleFrom('  Hello\n there ')).toBe('Hello there');
    expect(titleFrom('   ')).toBe('New chat');
    const fox = titleFrom('🦊'.repeat(80));
    expect(Array.from(fox)).toHaveLength(60);
    expect(fox.endsWith('🦊…')).toBe(true);
  });

  it('waits for the results of tool calls that have none', () => {
    const calls = { role: 'assistant', content: '', toolCalls: [add, now] } as const;
    const user = { role: 'user', content: 'q' } as const;
    expect(openCalls(talk(user).tree)).toBeUndefined();
    expect(openCalls(talk(user, { ...calls, toolCalls: [add, now] }).tree)?.ids).toEqual(['c1', 'c2']);
    expect(openCalls(talk(user, { ...calls, toolCalls: [add, now] }, { role: 'tool', content: '2', toolCallId: 'c1' }).tree)?.ids).toEqual(['c2']);
    expect(openCalls(talk(user, { ...calls, toolCalls: [add] }, { role: 'tool', content: '2', toolCallId: 'c1' }).tree)).toBeUndefined();
    expect(openCalls(talk(user, { ...calls, toolCalls: [add] }, user).tree)).toBeUndefined();
  });

  it('knows the tokens in use from the last counted answer', () => {
    const usage = { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 };
    expect(usedTokens(talk({ role: 'user', content: 'q' }).tree)).toBeUndefined();
    expect(usedTokens(talk({ role: 'user', content: 'q' }, { role: 'assistant', content: 'a', usage }, { role: 'user', content: 'r' }).tree)).toBe(11);
  });
});

describe('export and import', () => {
  it('bring a conversation back as it was', () => {
    const conversation = talk({ role: 'user', content: 'q' }, { role: 'assistant', content: 'a', reasoning: 'r', toolCalls: [add] });
    conversation.settings = { ...kDefaultSettings, system: 'Be brief.', sampling: { temperature: 0 }, thinkingBudget: 8 };
    expect(importJson(exportJson([conversation]))).toEqual([conversation]);
  });

  it('refuse what is not such a file, and say why', () => {
    expect(() => importJson('{')).toThrow('not JSON');
    expect(() => importJson('null')).toThrow('does not hold');
    expect(() => importJson('{"format":"other","conversations":[]}')).toThrow('does not hold');
    expect(() => importJson('{"format":"lanner-conversations","version":2,"conversations":[]}')).toThrow('version 2');
    const file = JSON.parse(exportJson([talk({ role: 'user', content: 'q' })]));
    file.conversations[0].tree.nodes.n0.role = 'system';
    expect(() => importJson(JSON.stringify(file))).toThrow('Conversation 1: message n0 has an unknown role');
    file.conversations[0].tree.nodes.n0.role = 'user';
    file.conversations[0].tree.children = { '': 'n0' };
    expect(() => importJson(JSON.stringify(file))).toThrow('Conversation 1');
  });

  it('drop settings of a wrong type', () => {
    const file = JSON.parse(exportJson([talk({ role: 'user', content: 'q' })]));
    file.conversations[0].settings = { system: 7, stop: [1], tools: 'x', thinkingBudget: 'y' };
    expect(importJson(JSON.stringify(file))[0]!.settings).toEqual({ ...kDefaultSettings, tools: 'x' });
  });

  it('write Markdown whose fences no text can close', () => {
    const text = exportMarkdown(
      talk({ role: 'user', content: 'q' }, { role: 'assistant', content: '', reasoning: 'one\ntwo', toolCalls: [{ ...add, arguments: '```' }] },
        { role: 'tool', content: 'sunny', toolCallId: 'c1', toolName: 'add' }),
    );
    expect(text).toContain('# A talk');
    expect(text).toContain('> one\n> two');
    expect(text).toContain('````json\n```\n````');
    expect(text).toContain('## Tool result: add\n\n```\nsunny\n```');
  });
});
