// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { serve } from './server.mjs';

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

for (const model of ['tale-gemma4', 'tale-qwen3_5']) {
  describe(`openai, ${model}`, () => {
    let server, client;
    before(async () => {
      server = await serve(model, ['--api-key', 'secret', '--embeddings', 'last']);
      client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'secret', maxRetries: 0 });
    });
    after(async () => assert.equal(await server.stop(), 0));

    const story = {
      model,
      messages: [{ role: 'user', content: 'Tell me a story.' }],
      temperature: 1,
      seed: 7,
      max_tokens: 40,
    };

    test('lists the model', async () => {
      const ids = [];
      for await (const entry of client.models.list()) ids.push(entry.id);
      assert.deepEqual(ids, [model]);
    });

    test('a streamed chat is the whole one', async () => {
      const whole = await client.chat.completions.create(story);
      let content = '';
      let usage;
      const stream = await client.chat.completions.create({
        ...story,
        stream: true,
        stream_options: { include_usage: true },
      });
      for await (const chunk of stream) {
        content += chunk.choices[0]?.delta?.content ?? '';
        usage = chunk.usage ?? usage;
      }
      assert.equal(content, whole.choices[0].message.content);
      assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
      assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens);
    });

    test('the stream runner of the client builds the same answer', async () => {
      const whole = await client.chat.completions.create(story);
      const final = await client.chat.completions.stream(story).finalChatCompletion();
      assert.equal(final.choices[0].message.content, whole.choices[0].message.content);
      assert.equal(final.choices[0].finish_reason, whole.choices[0].finish_reason);
    });

    test('log-probabilities', async () => {
      const answer = await client.chat.completions.create({
        ...story, logprobs: true, top_logprobs: 3, max_tokens: 8, reasoning_effort: 'none',
      });
      const entries = answer.choices[0].logprobs.content;
      assert.ok(entries.length > 0);
      for (const entry of entries) assert.equal(entry.top_logprobs.length, 3);
    });

    test('legacy completions', async () => {
      const answer = await client.completions.create({ model, prompt: 'Once upon a time', max_tokens: 10, seed: 1 });
      assert.ok(answer.choices[0].text.length > 0);
    });

    test('tools and their results are accepted', async () => {
      const answer = await client.chat.completions.create({
        model,
        max_tokens: 12,
        tools: [weather],
        messages: [
          { role: 'user', content: 'Weather in Bonn?' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Bonn"}' } }],
          },
          { role: 'tool', tool_call_id: 'c1', content: 'Rain' },
        ],
      });
      assert.ok(['stop', 'length', 'tool_calls'].includes(answer.choices[0].finish_reason));
    });

    test('a forced call is parsed by the client, streamed too', async () => {
      const request = {
        model, seed: 3, temperature: 1, max_tokens: 200, reasoning_effort: 'none', tools: [weather], tool_choice: 'required',
        parallel_tool_calls: false, messages: [{ role: 'user', content: 'Weather in Bonn?' }],
      };
      const whole = await client.chat.completions.create(request);
      const call = whole.choices[0].message.tool_calls?.[0];
      const final = await client.chat.completions.stream(request).finalChatCompletion();
      assert.equal(final.choices[0].finish_reason, whole.choices[0].finish_reason);
      if (whole.choices[0].finish_reason === 'length') return;
      assert.equal(typeof JSON.parse(call.function.arguments).city, 'string');
      assert.equal(final.choices[0].message.tool_calls[0].function.arguments, call.function.arguments);
      assert.equal(final.choices[0].message.tool_calls[0].id, call.id);
    });

    test('structured output', async () => {
      const schema = {
        type: 'object', properties: { answer: { type: 'integer', minimum: 0, maximum: 9 } }, required: ['answer'],
        additionalProperties: false,
      };
      const answer = await client.chat.completions.create({
        model, seed: 3, max_tokens: 100, reasoning_effort: 'none', messages: [{ role: 'user', content: 'How many?' }],
        response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
      });
      assert.equal(typeof JSON.parse(answer.choices[0].message.content).answer, 'number');
      const response = await client.responses.create({
        model, seed: 3, max_output_tokens: 100, reasoning: { effort: 'none' }, input: 'How many?',
        text: { format: { type: 'json_schema', name: 'answer', strict: true, schema } },
      });
      assert.equal(typeof JSON.parse(response.output_text).answer, 'number');
    });

    test('responses: whole, streamed, continued, deleted', async () => {
      const request = { model, input: 'Tell me a story.', seed: 7, temperature: 1, max_output_tokens: 40 };
      const whole = await client.responses.create(request);
      assert.equal(whole.status, 'incomplete');
      let text = '';
      let last = -1;
      let final;
      for await (const event of await client.responses.create({ ...request, stream: true })) {
        assert.equal(event.sequence_number, ++last);
        if (event.type === 'response.output_text.delta') text += event.delta;
        if (event.type === 'response.incomplete' || event.type === 'response.completed') final = event.response;
      }
      assert.equal(text, whole.output_text);
      assert.equal(final.usage.output_tokens, whole.usage.output_tokens);
      const next = await client.responses.create({
        model, input: 'And then?', previous_response_id: whole.id, max_output_tokens: 4,
      });
      assert.ok(next.usage.input_tokens > whole.usage.input_tokens);
      assert.equal((await client.responses.retrieve(whole.id)).id, whole.id);
      await client.responses.delete(whole.id);
      await assert.rejects(client.responses.retrieve(whole.id), { status: 404 });
    });

    test('embeddings: one, many, shortened, as text and as the default base64', async () => {
      const input = ['a fox', 'a fox and a hen', 'the sea at night'];
      const { data, usage } = await client.embeddings.create({ model, input });
      const plain = await client.embeddings.create({ model, input, encoding_format: 'float' });
      const cosine = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
      for (const [i, { index, embedding }] of data.entries()) {
        assert.equal(index, i);
        assert.ok(Math.abs(cosine(embedding, embedding) - 1) < 1e-5);
        assert.deepEqual(plain.data[i].embedding.map(Math.fround), embedding);
        const alone = await client.embeddings.create({ model, input: input[i] });
        assert.deepEqual(alone.data[0].embedding, embedding);
      }
      assert.ok(usage.prompt_tokens > 6);
      const short = await client.embeddings.create({ model, input: input[0], dimensions: 16, encoding_format: 'float' });
      assert.equal(short.data[0].embedding.length, 16);
      assert.ok(Math.abs(cosine(short.data[0].embedding, short.data[0].embedding) - 1) < 1e-5);
      await assert.rejects(client.embeddings.create({ model, input: [''] }), { status: 400, param: 'input' });
      await assert.rejects(client.embeddings.create({ model, input: 'x', dimensions: 1_000_000 }), { status: 400 });
    });

    test('errors have the classes that the client knows', async () => {
      await assert.rejects(client.chat.completions.create({ ...story, temperature: 9 }), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError);
        assert.equal(error.param, 'temperature');
        assert.equal(error.code, 'invalid_value');
        assert.ok(error.requestID);
        return true;
      });
      const stranger = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'wrong', maxRetries: 0 });
      await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
      await assert.rejects(client.models.retrieve('other'), OpenAI.NotFoundError);
    });

    test('a stream can be left', async () => {
      const stream = await client.chat.completions.create({ ...story, max_tokens: 200, stream: true });
      for await (const chunk of stream) {
        assert.ok(chunk.id);
        break;
      }
      const again = await client.chat.completions.create({ ...story, max_tokens: 2 });
      assert.equal(again.object, 'chat.completion');
    });
  });
}
