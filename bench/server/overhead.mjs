// SPDX-License-Identifier: MIT
// Usage: node bench/server/overhead.mjs [PROGRAM] [MODEL]
// What serving costs: tokens per second of one streaming client on loopback against `lanner run`, and how long a token
// takes from the engine to the client. Prints one JSON line.
import { execFileSync, spawn } from 'node:child_process';

const program = process.argv[2] ?? 'build/release/lanner';
const model = process.argv[3] ?? 'models/tale-gemma4';
const tokens = 200;
const repeats = 7;
const prompt = 'Tell me a long story about a fox and a lantern.';

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

function bareRate() {
  const out = execFileSync(program, ['run', model, '-p', prompt, '-n', String(tokens), '--ignore-eos', '--seed', '1', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse(out).timings.decode_tokens_per_second;
}

async function start() {
  const child = spawn(program, ['serve', model, '--port', '0', '--log-format', 'none'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(log)));
    child.stderr.on('data', (bytes) => {
      log += bytes;
      if (/ is ready\n/.test(log)) resolve({ url: /listening on (\S+)/.exec(log)[1], child });
    });
  });
}

/// Tokens per second after the first, on the client's clock; and the engine's own rate for the same answer.
async function servedRate(url) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      messages: [{ role: 'user', content: prompt }], max_tokens: tokens, ignore_eos: true, seed: 1, stream: true,
      stream_options: { include_usage: true, include_timings: true }, logprobs: true, logprobs_all: true,
    }),
  });
  let first = 0;
  let last = 0;
  let seen = 0;
  let text = '';
  for await (const bytes of response.body) {
    const now = performance.now();
    text += Buffer.from(bytes).toString();
    if (!text.includes('"logprob"')) continue;
    if (first === 0) first = now;
    last = now;
    ++seen;
  }
  const events = text.split('\n').filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)));
  const { timings } = events.at(-1).lanner;
  return { client: (1000 * (timings.predicted_n - 1)) / (last - first), engine: (1000 * (timings.predicted_n - 1)) / timings.predicted_ms, seen };
}

const { url, child } = await start();
await servedRate(url);
const bare = [];
const served = [];
const engine = [];
for (let i = 0; i < repeats; ++i) {
  bare.push(bareRate());
  const rate = await servedRate(url);
  served.push(rate.client);
  engine.push(rate.engine);
}
child.removeAllListeners('exit');
child.kill('SIGTERM');
console.log(JSON.stringify({
  bench: 'server overhead', model, tokens, repeats, bare_tokens_per_second: median(bare), served_tokens_per_second: median(served),
  engine_while_serving: median(engine), share: median(served) / median(bare),
}));
