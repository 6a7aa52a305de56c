// SPDX-License-Identifier: MIT
// Usage: node bench/server/load.mjs [--program P] [--model M] [--streams 256] [--seconds 300] [--server-option X ...]
// Many clients at once for a while: some leave in the middle, some read slowly, the others read to the end. Fails when
// a response is none of 200, 429 and 503, when a finished answer is not what the same request gets alone, or when
// memory grows after the first minute. Prints one JSON line.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { parseArgs } from 'node:util';
import { contentOf, postBytes, startServer, streamOf, unchunk } from './loopback.mjs';

const { values: options } = parseArgs({
  options: {
    program: { type: 'string', default: 'build/release/lanner' },
    model: { type: 'string', default: 'models/tale-gemma4' },
    streams: { type: 'string', default: '256' },
    seconds: { type: 'string', default: '300' },
    'memory-check': { type: 'boolean', default: true },
    'server-option': { type: 'string', multiple: true, default: [] },
  },
  allowNegative: true,
});

const subjects = ['a fox and a lantern', 'the last lighthouse', 'a clock that ran backwards', 'three brothers', 'the sea'];
const requests = Array.from({ length: 40 }, (_, i) => {
  const text = `Tell me a story about ${subjects[i % subjects.length]}.`;
  const common = { seed: i, temperature: i % 4 === 0 ? 0 : 1, stream: true, max_tokens: 20 + ((i * 37) % 100) };
  const messages = [{ role: 'user', content: text }];
  if (i % 4 === 1) return { path: '/v1/completions', body: { ...common, prompt: text } };
  if (i % 4 === 2) return { path: '/v1/messages', body: { ...common, messages } };
  if (i % 4 === 3) return { path: '/v1/responses', body: { ...common, input: text, max_output_tokens: common.max_tokens } };
  return { path: '/v1/chat/completions', body: { ...common, messages, logprobs: i % 8 === 0 } };
});

/// Sends a request and behaves as told; → what came of it.
function client(port, request, behaviour) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    const pieces = [];
    const leaveAfter = behaviour === 'leaves' ? 50 + Math.random() * 20_000 : Infinity;
    let received = 0;
    let left = false;
    let timer;
    const leave = () => {
      left = true;
      Math.random() < 0.5 ? socket.destroy() : socket.resetAndDestroy();
    };
    // Some leave before the first byte comes.
    if (behaviour === 'leaves' && Math.random() < 0.3) timer = setTimeout(leave, Math.random() * 500);
    socket.on('error', () => {});
    socket.on('connect', () => socket.write(postBytes(request.path, request.body)));
    socket.on('data', (bytes) => {
      pieces.push(bytes);
      received += bytes.length;
      if (received > leaveAfter) return leave();
      if (behaviour === 'slow' && Math.random() < 0.2) {
        socket.pause();
        setTimeout(() => socket.resume(), Math.random() * 1500);
      }
    });
    socket.on('close', () => {
      clearTimeout(timer);
      if (left) return resolve({ outcome: 'left' });
      const all = Buffer.concat(pieces);
      const status = Number(all.toString('latin1', 9, 12));
      if (status !== 200) return resolve({ outcome: String(status), why: all.toString().slice(0, 500) });
      const text = unchunk(all);
      const complete = /data: \[DONE\]|"type":"message_stop"|"type":"response\.(completed|incomplete)"/.test(text);
      resolve({ outcome: complete ? 'finished' : 'cut', content: contentOf(text), why: text.slice(-500) });
    });
  });
}

const memoryMiB = (pid) => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (name) => Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  return (kilobytes('RssAnon') + kilobytes('VmSwap')) / 1024;
};
const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;

// Stored answers fill a small store in the first minute; each one after that takes the place of older ones.
const server = await startServer(options.program, options.model, ['--response-store', '1', ...options['server-option']]);
const alone = [];
for (const request of requests) alone.push(contentOf((await streamOf(server.port, request.path, request.body)).text));

const outcomes = {};
const end = performance.now() + 1000 * Number(options.seconds);
const memory = [];
const sampler = setInterval(() => memory.push(memoryMiB(server.pid)), 1000);
await Promise.all(Array.from({ length: Number(options.streams) }, async () => {
  while (performance.now() < end) {
    const index = Math.floor(Math.random() * requests.length);
    const dice = Math.random();
    const result = await client(server.port, requests[index], dice < 0.2 ? 'leaves' : dice < 0.35 ? 'slow' : 'reads');
    outcomes[result.outcome] = (outcomes[result.outcome] ?? 0) + 1;
    assert.ok(['finished', 'left', '429', '503'].includes(result.outcome), `${result.outcome}: ${result.why}`);
    if (result.outcome === 'finished') assert.equal(result.content, alone[index], requests[index].path);
    if (result.outcome === '429') await new Promise((wait) => setTimeout(wait, 200 + Math.random() * 800));
  }
}));
clearInterval(sampler);

// Alone again: the same answers as before.
for (const [index, request] of requests.entries())
  assert.equal(contentOf((await streamOf(server.port, request.path, request.body)).text), alone[index]);
assert.equal(await server.stop(), 0, server.log());
const settled = memory.slice(60);
const first = mean(settled.slice(0, 30));
const last = mean(settled.slice(-30));
console.log(JSON.stringify({
  bench: 'server load', model: options.model, streams: Number(options.streams), seconds: Number(options.seconds), outcomes,
  memory_mib: { after_first_minute: first, at_end: last, every_30_s: memory.filter((_, i) => i % 30 === 0).map(Math.round) },
}));
if (settled.length >= 60 && options['memory-check'])
  assert.ok(last < first * 1.02 + 4, 'memory grew after the first minute; a smaller --kv-cache is full earlier');
