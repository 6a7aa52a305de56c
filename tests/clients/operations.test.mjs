// SPDX-License-Identifier: MIT
// The program as an operator sees it: TLS, keys read again, logs, signals, states that outlive it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { serve } from './server.mjs';

const model = 'tale-qwen3_5';
const post = (server, route, body, headers = {}) =>
  fetch(server.url + route, {
    method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body),
  });
const until = async (condition) => {
  for (let i = 0; i < 500; ++i) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail('it did not happen within 10 seconds');
};
const story = { prompt: 'Once upon a time', max_tokens: 200, ignore_eos: true, temperature: 1, seed: 3 };

describe('operations', () => {
  let folder;
  before(() => (folder = mkdtempSync(path.join(os.tmpdir(), 'lanner-operations-'))));
  after(() => rmSync(folder, { recursive: true }));

  test('TLS with a certificate of one\'s own', async () => {
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => path.join(folder, name));
    execFileSync('openssl', [
      'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', cert,
    ], { stdio: 'ignore' });
    const server = await serve(model, ['--tls-cert', cert, '--tls-key', key]);
    assert.ok(server.url.startsWith('https://'));
    const request = (options, body) =>
      new Promise((resolve, reject) => {
        const sent = https.request(`${server.url}/v1/completions`, {
          method: 'POST', headers: { 'Content-Type': 'application/json' }, ca: readFileSync(cert), ...options,
        }, (response) => {
          let text = '';
          response.on('data', (bytes) => (text += bytes));
          response.on('end', () => resolve({ status: response.statusCode, text }));
        });
        sent.on('error', reject);
        sent.end(JSON.stringify(body));
      });
    const whole = await request({}, story);
    assert.equal(whole.status, 200);
    const streamed = await request({}, { ...story, stream: true });
    const pieces = streamed.text.split('\n').filter((line) => line.startsWith('data: {'));
    assert.equal(
      pieces.map((line) => JSON.parse(line.slice(6)).choices[0]?.text ?? '').join(''),
      JSON.parse(whole.text).choices[0].text,
    );
    await assert.rejects(request({ ca: [] }, story), /self-signed/);
    await assert.rejects(request({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }, story));
    await assert.rejects(fetch(`${server.url.replace('https', 'http')}/health`), /fetch failed/);
    // A connection that ended without close_notify could have been cut by somebody: the client would say so.
    const ended = spawnSync('openssl', ['s_client', '-quiet', '-connect', new URL(server.url).host, '-CAfile', cert], {
      input: 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', encoding: 'utf8', timeout: 20_000,
    });
    assert.match(ended.stdout, /^HTTP\/1\.1 200 OK\r\n/);
    assert.doesNotMatch(ended.stderr, /unexpected eof|errno/);
    assert.equal(ended.status, 0);
    assert.equal(await server.stop(), 0);
    await assert.rejects(serve(model, ['--tls-cert', key, '--tls-key', key]), /no certificate chain/);
    await assert.rejects(serve(model, ['--tls-cert', cert]), /go together/);
  });

  test('keys are read again on SIGHUP; the log has one JSON object a line', async () => {
    const keys = path.join(folder, 'keys');
    writeFileSync(keys, 'alpha-key\n');
    const server = await serve(model, ['--api-key-file', keys, '--log-format', 'json']);
    const status = async (key) =>
      (await fetch(`${server.url}/v1/models`, { headers: { Authorization: `Bearer ${key}` } })).status;
    assert.equal(await status('alpha-key'), 200);
    assert.equal(await status('beta-key'), 401);
    writeFileSync(keys, 'beta-key\n');
    server.kill('SIGHUP');
    await until(async () => (await status('beta-key')) === 200);
    assert.equal(await status('alpha-key'), 401);
    writeFileSync(keys, '');
    server.kill('SIGHUP');
    await until(() => /the keys stay as they were/.test(server.log()));
    assert.equal(await status('beta-key'), 200);
    assert.equal((await fetch(`${server.url}/health`, { headers: { 'X-Request-Id': 'look.for-me' } })).status, 200);
    assert.equal(await server.stop(), 0);
    const lines = server.log().split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    const line = lines.find((entry) => entry.request_id === 'look.for-me');
    assert.equal(line.path, '/health');
    assert.equal(line.status, 200);
    assert.equal(line.peer, '127.0.0.1');
    assert.ok(line.seconds >= 0 && line.bytes > 0 && Date.parse(line.time) > 0);
    assert.ok(!server.log().includes('beta-key'), 'keys are not logged');
  });

  test('threads of connections come before those that compute', async () => {
    const server = await serve(model, ['-t', '2']);
    assert.equal((await post(server, '/v1/completions', { ...story, max_tokens: 4 })).status, 200);
    const tasks = `/proc/${server.pid}/task`;
    const nices = readdirSync(tasks).map((task) => Number(readFileSync(path.join(tasks, task, 'stat'), 'utf8').split(') ')[1].split(' ')[16]));
    const least = Math.min(...nices);
    assert.ok(nices.filter((nice) => nice === least).length >= 2, `connections: ${nices}`);
    assert.ok(nices.filter((nice) => nice === Math.min(least + 5, 19)).length >= 3, `main, engine and worker: ${nices}`);
    assert.equal(await server.stop(), 0);
  });

  test('SIGTERM under load: every answer ends whole or with an error', async () => {
    const server = await serve(model, ['--drain-timeout', '0.3', '--max-queue', '300']);
    const streams = Array.from({ length: 256 }, async (_, i) => {
      const response = await post(server, '/v1/completions', { ...story, seed: i, stream: i % 3 !== 0 });
      const text = await response.text();
      if (response.status === 200 && i % 3 !== 0)
        return /data: \[DONE\]/.test(text) ? 'done' : /data: \{"error":/.test(text) ? 'error' : 'cut';
      return response.status === 200 ? 'done' : response.status === 503 && JSON.parse(text).error ? 'error' : 'cut';
    });
    await until(async () => /num_requests_running\{[^}]*\} 8/.test(await (await fetch(`${server.url}/metrics`)).text()));
    server.kill('SIGTERM');
    const results = await Promise.all(streams);
    assert.ok(results.every((result) => result !== 'cut'), results.join(' '));
    assert.ok(results.includes('error'), 'the drain time was too short for all');
    assert.notEqual(await server.ended, null);
  });

  test('kill -9 loses no saved state; the next server serves at once', async () => {
    const states = path.join(folder, 'states');
    execFileSync('mkdir', [states]);
    const options = ['--state-dir', states];
    const server = await serve(model, options);
    const answer = await post(server, '/v1/completions', story, { 'X-Request-Id': 'the-story' });
    const beginning = (await answer.json()).choices[0].text;
    const saved = await (await post(server, '/v1/state/save', { name: 'fox', request_id: 'the-story' })).json();
    assert.equal(saved.name, 'fox');
    assert.ok(saved.tokens > 200);
    const { tokens } = await (await post(server, '/tokenize', { prompt: story.prompt + beginning })).json();
    assert.equal((await post(server, '/v1/state/save', { name: 'plain', tokens: tokens.slice(0, 100) })).status, 200);
    const goesOn = { prompt: tokens, max_tokens: 30, temperature: 1, seed: 9, ignore_eos: true };
    const expected = await (await post(server, '/v1/completions', goesOn)).json();
    // While another state is being written and answers are made.
    const interrupted = [post(server, '/v1/state/save', { name: 'fox', tokens }), post(server, '/v1/completions', story)];
    server.kill('SIGKILL');
    await Promise.allSettled(interrupted);
    await server.ended;
    assert.ok(readdirSync(states).includes('fox.state'));

    const next = await serve(model, options);
    assert.equal((await (await post(next, '/v1/state/load', { name: 'plain' })).json()).tokens, 100);
    const got = await (await post(next, '/v1/completions', goesOn)).json();
    assert.equal(got.choices[0].text, expected.choices[0].text);
    assert.equal(got.usage.prompt_tokens_details.cached_tokens, 100);
    assert.equal((await post(next, '/v1/state/load', { name: 'fox' })).status, 200);
    assert.equal((await post(next, '/v1/state/load', { name: 'hen' })).status, 404);
    assert.equal(await next.stop(), 0);
    const other = await serve('tale-gemma4', options);
    const mismatch = await post(other, '/v1/state/load', { name: 'fox' });
    assert.equal(mismatch.status, 409);
    assert.equal((await mismatch.json()).error.code, 'state_mismatch');
    assert.equal(await other.stop(), 0);
  });
});
