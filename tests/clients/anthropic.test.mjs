// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { serve } from './server.mjs';

for (const model of ['tale-gemma4', 'tale-qwen3_5']) {
  describe(`anthropic, ${model}`, () => {
    let server, client;
    before(async () => {
      server = await serve(model, ['--api-key', 'secret']);
      client = new Anthropic({ baseURL: server.url, apiKey: 'secret', maxRetries: 0 });
    });
    after(async () => assert.equal(await server.stop(), 0));

    const story = {
      model,
      max_tokens: 40,
      temperature: 1,
      seed: 7,
      system: 'You tell stories.',
      messages: [{ role: 'user', content: 'Tell me a story.' }],
    };

    test('a streamed message is the whole one', async () => {
      const whole = await client.messages.create(story);
      assert.equal(whole.role, 'assistant');
      const final = await client.messages.stream(story).finalMessage();
      assert.deepEqual(final.content, whole.content);
      assert.equal(final.stop_reason, whole.stop_reason);
      assert.equal(final.usage.output_tokens, whole.usage.output_tokens);
    });

    test('counts tokens', async () => {
      const whole = await client.messages.create({ ...story, max_tokens: 1 });
      const { max_tokens, temperature, seed, ...body } = story;
      const count = await client.messages.countTokens(body);
      assert.equal(count.input_tokens, whole.usage.input_tokens + whole.usage.cache_read_input_tokens);
    });

    test('tool use and results are accepted', async () => {
      const answer = await client.messages.create({
        model,
        max_tokens: 8,
        tools: [{ name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }],
        messages: [
          { role: 'user', content: 'Weather in Bonn?' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'get_weather', input: { city: 'Bonn' } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'Rain' }] },
        ],
      });
      assert.ok(answer.usage.output_tokens > 0);
    });

    test('errors have the classes that the client knows', async () => {
      await assert.rejects(client.messages.create({ ...story, messages: [] }), Anthropic.BadRequestError);
      const stranger = new Anthropic({ baseURL: server.url, apiKey: 'wrong', maxRetries: 0 });
      await assert.rejects(stranger.messages.create(story), Anthropic.AuthenticationError);
    });
  });
}
