// SPDX-License-Identifier: MIT
import { describe, expect, it } from 'vitest';
import { chatRequest, continuationRequest } from '../../src/chat/request';
import { kDefaultSettings, parseExtra, parseTools } from '../../src/chat/settings';
import { liveSpeed, tokensPerSecond } from '../../src/chat/speed';
import type { MessageNode } from '../../src/chat/tree';

function message(role: MessageNode['role'], content: string, more: Partial<MessageNode> = {}): MessageNode {
  return { id: content, parent: null, role, content, created: 0, ...more };
}

describe('a request', () => {
  it('leaves every default to the server', () => {
    expect(chatRequest([message('user', 'hi')], kDefaultSettings, '')).toEqual({ messages: [{ role: 'user', content: 'hi' }] });
  });

  it('carries the settings under the names of the API', () => {
    const settings = {
      ...kDefaultSettings, system: 'Be brief.', sampling: { temperature: 0, top_k: 5 }, thinking: 'low' as const, thinkingBudget: 9,
      stop: ['END'], tools: '[{"type":"function","function":{"name":"f"}}]', extra: '{"min_tokens":3}',
    };
    expect(chatRequest([message('user', 'hi')], settings, 'm')).toEqual({
      model: 'm', temperature: 0, top_k: 5, reasoning_effort: 'low', thinking_budget: 9, stop: ['END'], min_tokens: 3,
      tools: [{ type: 'function', function: { name: 'f' } }],
      messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'hi' }],
    });
  });

  it('never lets further fields replace the messages', () => {
    const settings = { ...kDefaultSettings, extra: '{"messages":[]}' };
    expect(chatRequest([message('user', 'hi')], settings, '').messages).toHaveLength(1);
  });

  it('sends calls, their results and thoughts, and no content beside calls alone', () => {
    const call = { id: 'c', name: 'f', arguments: '{}' };
    const path = [
      message('user', 'q'), message('assistant', '', { toolCalls: [call], reasoning: 'hm' }),
      message('tool', '42', { toolCallId: 'c', toolName: 'f' }),
    ];
    expect(chatRequest(path, kDefaultSettings, '').messages.slice(1)).toEqual([
      { role: 'assistant', content: null, reasoning_content: 'hm', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', content: '42', tool_call_id: 'c', name: 'f' },
    ]);
  });

  it('leaves out answers that failed before their first word', () => {
    const failed = message('assistant', '', { error: { message: 'busy' } });
    expect(chatRequest([message('user', 'q'), failed, message('user', 'again')], kDefaultSettings, '').messages).toHaveLength(2);
  });

  it('asks to go on with a cut answer', () => {
    expect(continuationRequest([message('user', 'q'), message('assistant', 'Once')], kDefaultSettings, '')).toMatchObject({
      continue_final_message: true, add_generation_prompt: false, messages: [{}, { role: 'assistant', content: 'Once' }],
    });
  });
});

describe('JSON in the settings', () => {
  it('is reported when it is broken, and not sent', () => {
    expect(parseTools('[').problem).toBeDefined();
    expect(parseTools('[{"type":"function"}]').problem).toContain('tool 1');
    expect(parseTools('[null]').problem).toContain('tool 1');
    expect(parseTools('{"type":"function","function":{"name":"f"}}').tools).toHaveLength(1);
    expect(parseExtra('[1]').problem).toContain('object');
    expect(parseExtra('').fields).toEqual({});
  });
});

describe('speed', () => {
  it('comes from the times the server measured', () => {
    expect(tokensPerSecond({ prompt_n: 100, prompt_ms: 50, predicted_n: 10, predicted_ms: 500 })).toEqual({ prompt: 2000, decode: 20 });
    expect(tokensPerSecond({ prompt_n: 0, prompt_ms: 0, predicted_n: 1, predicted_ms: 0 })).toEqual({ prompt: undefined, decode: undefined });
    expect(tokensPerSecond(undefined)).toEqual({ prompt: undefined, decode: undefined });
  });
  it('is told for a running answer only once it means something', () => {
    expect(liveSpeed(1, 0, 1000)).toBeUndefined();
    expect(liveSpeed(5, 0, 100)).toBeUndefined();
    expect(liveSpeed(21, 1000, 3000)).toBe(10);
  });
});
