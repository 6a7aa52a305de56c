// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { cosineSimilarity, embed, embedMany, generateObject, generateText, streamText, tool } from 'ai';
import { z } from 'zod';
import { serve } from './server.mjs';

for (const model of ['tale-gemma4', 'tale-qwen3_5']) {
  describe(`AI SDK, ${model}`, () => {
    let server, language, embedding;
    before(async () => {
      server = await serve(model, ['--embeddings', 'mean']);
      const provider = createOpenAICompatible({ name: 'lanner', baseURL: `${server.url}/v1`, includeUsage: true, supportsStructuredOutputs: true });
      language = provider(model);
      embedding = provider.textEmbeddingModel(model);
    });
    after(async () => assert.equal(await server.stop(), 0));

    const story = () => ({ model: language, prompt: 'Tell me a story.', seed: 7, temperature: 1, maxOutputTokens: 40, maxRetries: 0 });

    test('a streamed text is the whole one', async () => {
      const whole = await generateText(story());
      const stream = streamText(story());
      let text = '';
      for await (const piece of stream.textStream) text += piece;
      assert.equal(text, whole.text);
      assert.equal(await stream.reasoningText ?? '', whole.reasoningText ?? '');
      assert.equal((await stream.usage).outputTokens, whole.usage.outputTokens);
    });

    test('embeddings', async () => {
      const values = ['a fox', 'a fox and a hen', 'the sea'];
      const { embeddings } = await embedMany({ model: embedding, values, maxRetries: 0 });
      assert.equal(embeddings.length, 3);
      const { embedding: alone, usage } = await embed({ model: embedding, value: values[1], maxRetries: 0 });
      assert.deepEqual(alone, embeddings[1]);
      assert.ok(usage.tokens > 0);
      assert.ok(Math.abs(cosineSimilarity(alone, alone) - 1) < 1e-5);
    });

    test('tools are accepted', async () => {
      const answer = await generateText({
        ...story(),
        maxOutputTokens: 8,
        tools: { get_weather: tool({ description: 'Weather', inputSchema: z.object({ city: z.string() }) }) },
      });
      assert.ok(answer.usage.outputTokens > 0);
    });

    test('objects follow their schema', async () => {
      const answer = await generateObject({
        ...story(),
        maxOutputTokens: 100,
        schema: z.object({ answer: z.number().int().min(0).max(9) }),
        providerOptions: { lanner: { reasoningEffort: 'none' } },
      });
      assert.equal(typeof answer.object.answer, 'number');
    });

    test('errors are told', async () => {
      await assert.rejects(generateText({ ...story(), temperature: 9 }), /temperature/);
    });
  });
}
