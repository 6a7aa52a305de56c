// SPDX-License-Identifier: MIT
// Usage: node bench/server/idle.mjs [PROGRAM] [MODEL] [THREADS] [CONNECTIONS] [REPEATS]
// Whether idle connections slow a stream down: its tokens per second, in turns without them and with half of them
// silent and half with one request behind them. Prints one JSON line.
import assert from 'node:assert/strict';
import net from 'node:net';
import { median, startServer, streamOf } from './loopback.mjs';

const program = process.argv[2] ?? 'build/release/lanner';
const model = process.argv[3] ?? 'models/tale-gemma4';
const threads = process.argv[4] ?? '1';
const connections = Number(process.argv[5] ?? 2000);
const repeats = Number(process.argv[6] ?? 7);

const server = await startServer(program, model, ['-t', threads]);
async function rate() {
  const { events, firstByteMs, lastPieceMs } = await streamOf(server.port, '/v1/completions', {
    prompt: 'Once upon a time', max_tokens: 200, ignore_eos: true, seed: 1, stream: true,
    stream_options: { include_usage: true, include_timings: true },
  });
  return (1000 * (events.at(-1).lanner.timings.predicted_n - 1)) / (lastPieceMs - firstByteMs);
}
const open = (index) =>
  new Promise((resolve, reject) => {
    const socket = net.connect(server.port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('connect', () => {
      if (index % 2 === 0) return resolve(socket);
      socket.once('data', () => resolve(socket));
      socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    });
  });

await rate();
const without = [];
const among = [];
for (let i = 0; i < repeats; ++i) {
  without.push(await rate());
  const idle = [];
  for (let at = 0; at < connections; at += 100)
    idle.push(...(await Promise.all(Array.from({ length: Math.min(100, connections - at) }, (_, k) => open(at + k)))));
  among.push(await rate());
  assert.ok(idle.every((socket) => !socket.destroyed));
  await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once('close', resolve).destroy())));
}
assert.equal(await server.stop(), 0);
console.log(JSON.stringify({
  bench: 'server idle connections', model, threads: Number(threads), connections, repeats, without: median(without), among: median(among),
  share: median(among) / median(without),
}));
