// SPDX-License-Identifier: MIT
// Usage: node bench/server/overhead.mjs [PROGRAM] [MODEL] [THREADS] [TOKENS] [REPEATS] [CLIENT]
// What serving costs. In turns, each side in a new process, with the same threads, sampler, prompt and seed: tokens per second of `lanner run` by
// its own clock, and those of one streaming client on loopback by the client's clock. Both must give the same text.
// `first_byte_ms`: from the engine's first token to the first byte at the client, reading the request included (the
// client's wait less the engine's own time to the first token). Prints one JSON line.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { eventsOf, median, startServer, unchunk } from './loopback.mjs';

const program = process.argv[2] ?? 'build/release/lanner';
const model = process.argv[3] ?? 'models/tale-gemma4';
const threads = Number(process.argv[4] ?? 2);
const tokens = Number(process.argv[5] ?? 200);
const repeats = Number(process.argv[6] ?? 7);
const client = process.argv[7] ?? 'build/bench/bench/stream_client';
const prompt = 'Once upon a time there was a fox with a lantern.';

function bare() {
  const out = execFileSync(
    program,
    ['run', model, '--raw', '-p', prompt, '-n', tokens, '--ignore-eos', '--seed', 1, '--temp', 1, '--top-p', 1, '--top-k', 0, '-t', threads, '--json'].map(String),
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const answer = JSON.parse(out);
  return { rate: answer.timings.decode_tokens_per_second, text: answer.text };
}

// A client at real-time priority, where allowed: its own wait for a core is no cost of the server.
const realTime = spawnSync('chrt', ['-f', '1', 'true']).status === 0 ? ['chrt', '-f', '1'] : [];
const common = { prompt, ignore_eos: true, temperature: 1, top_p: 1, top_k: 0 };

/// One answer: its text as it came over the wire, and when its first and last byte came (ms).
function post(body) {
  const [command, ...rest] = [...realTime, client, String(server.port), '/v1/completions'];
  const { status, stdout, stderr } = spawnSync(command, rest, { input: JSON.stringify({ ...common, ...body }), encoding: 'latin1' });
  assert.equal(status, 0, stderr);
  return { bytes: Buffer.from(stdout, 'latin1'), ...JSON.parse(stderr) };
}

function stream(body) {
  const { bytes, first_ms: first, last_ms: last } = post({ ...body, stream: true, stream_options: { include_usage: true, include_timings: true } });
  const events = eventsOf(unchunk(bytes));
  const { timings } = events.at(-1).lanner;
  return { events, timings, firstByteMs: first - timings.queue_ms - timings.prompt_ms, streamMs: last - first };
}

function served() {
  const { events, timings, streamMs } = stream({ max_tokens: tokens, seed: 1 });
  return {
    text: events.map((event) => event.choices[0]?.text ?? '').join(''),
    // The first byte comes with the first token; the last one after the last.
    rate: (1000 * (timings.predicted_n - 1)) / streamMs,
    engine: (1000 * (timings.predicted_n - 1)) / timings.predicted_ms,
  };
}

/// The same answer without streaming: the engine's own rate, while the server does nothing for single tokens.
function whole() {
  const { bytes } = post({ max_tokens: tokens, seed: 1 });
  return (1000 * (tokens - 1)) / Number(/decode;dur=([\d.]+)/.exec(bytes.toString('latin1'))[1]);
}

let server;
const runs = [];
const firstBytes = [];
for (let i = 0; i < repeats; ++i) {
  // Like every bare run, every served one is a new process: where its memory lies decides more than what is compared.
  const run = { bare: bare() };
  server = await startServer(program, model, ['-t', String(threads)]);
  run.served = served();
  run.whole = whole();
  for (let seed = 0; seed < 5; ++seed) firstBytes.push(stream({ max_tokens: 2, seed }).firstByteMs);
  await server.stop();
  assert.equal(run.served.text, run.bare.text);
  runs.push(run);
}
const rates = {
  bare: runs.map((run) => run.bare.rate),
  served: runs.map((run) => run.served.rate),
  served_engine: runs.map((run) => run.served.engine),
  not_streamed: runs.map((run) => run.whole),
};
const all = (reduce) => Object.fromEntries(Object.entries(rates).map(([name, values]) => [name, Number(reduce(values).toFixed(2))]));
console.log(JSON.stringify({
  bench: 'server overhead', model, threads, tokens, repeats, median: all(median), fastest: all((values) => Math.max(...values)),
  share: median(rates.served) / median(rates.bare), median_share: median(runs.map((run) => run.served.rate / run.bare.rate)), share_of_fastest: Math.max(...rates.served) / Math.max(...rates.bare),
  first_byte_ms: median(firstBytes), real_time_client: realTime.length > 0,
}));
