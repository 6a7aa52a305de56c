// SPDX-License-Identifier: MIT
import { describe, expect, it } from 'vitest';
import { addStreamItem, emptyAnswer, type Answer } from '../../src/api/chat_stream';

function answerOf(...events: unknown[]): Answer {
  const answer = emptyAnswer();
  for (const event of events)
    addStreamItem(answer, { kind: 'data', event: 'message', data: typeof event === 'string' ? event : JSON.stringify(event) });
  return answer;
}
const delta = (value: object) => ({ model: 'm', choices: [{ index: 0, delta: value, finish_reason: null }], usage: null });

describe('an answer that arrives in pieces', () => {
  it('joins thought and text apart', () => {
    const answer = answerOf(
      delta({ role: 'assistant', content: '' }),
      delta({ reasoning_content: 'Let me ' }),
      delta({ reasoning_content: 'see.' }),
      delta({ content: 'Fo' }),
      delta({ content: 'ur.' }),
      { choices: [{ delta: {}, finish_reason: 'stop' }] },
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }, lanner: { seed: 9, timings: { predicted_n: 4, predicted_ms: 2 } } },
      '[DONE]',
    );
    expect(answer).toMatchObject({ reasoning: 'Let me see.', content: 'Four.', finish: 'stop', complete: true, seed: 9, model: 'm', pieces: 4 });
    expect(answer.usage?.total_tokens).toBe(7);
    expect(answer.timings?.predicted_ms).toBe(2);
  });

  it('takes a thought once when it is sent under both names', () => {
    expect(answerOf(delta({ reasoning_content: 'hm', reasoning: 'hm' })).reasoning).toBe('hm');
    expect(answerOf(delta({ reasoning: 'hm' })).reasoning).toBe('hm');
  });

  it('joins the arguments of parallel tool calls by index', () => {
    const call = (index: number, part: object) => delta({ tool_calls: [{ index, ...part }] });
    const answer = answerOf(
      call(0, { id: 'a', type: 'function', function: { name: 'add', arguments: '' } }),
      call(0, { function: { arguments: '{"x":' } }),
      call(1, { id: 'b', type: 'function', function: { name: 'now', arguments: '' } }),
      call(0, { function: { arguments: '1}' } }),
      call(1, { function: { arguments: '{}' } }),
    );
    expect(answer.toolCalls).toEqual([
      { id: 'a', name: 'add', arguments: '{"x":1}' },
      { id: 'b', name: 'now', arguments: '{}' },
    ]);
  });

  it('keeps what arrived when an error event ends the stream', () => {
    const answer = answerOf(delta({ content: 'half' }), { error: { message: 'deadline', type: 'timeout_error', code: 'deadline_exceeded' } });
    expect(answer).toMatchObject({ content: 'half', complete: false, error: { message: 'deadline', code: 'deadline_exceeded' } });
  });

  it('reports an event that is not JSON', () => {
    expect(answerOf('{"choices":').error?.message).toContain('not JSON');
  });

  it('shows how much of the prompt is read until the first piece', () => {
    const answer = emptyAnswer();
    addStreamItem(answer, { kind: 'comment', text: 'keepalive 512/2000' });
    expect(answer.promptProgress).toEqual({ done: 512, total: 2000 });
    addStreamItem(answer, { kind: 'comment', text: 'something else' });
    expect(answer.promptProgress).toEqual({ done: 512, total: 2000 });
    addStreamItem(answer, { kind: 'data', event: 'message', data: JSON.stringify(delta({ content: 'x' })) });
    expect(answer.promptProgress).toBeUndefined();
  });
});
