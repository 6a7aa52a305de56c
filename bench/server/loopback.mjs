// SPDX-License-Identifier: MIT
// A server of its own on a free port, and a client that does as little as it can between two tokens.
import net from 'node:net';
import { start } from '../../tests/clients/server.mjs';

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

export const startServer = (program, model, options = [], env = process.env) =>
  start(program, model, ['--log-format', 'none', ...options], env);

export const postBytes = (path, body) => {
  const text = Buffer.from(JSON.stringify(body));
  return Buffer.concat([
    Buffer.from(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n`),
    text,
  ]);
};

/// The body of a chunked response.
export function unchunk(bytes) {
  const parts = [];
  for (let at = bytes.indexOf('\r\n\r\n') + 4; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n', at);
    const size = parseInt(bytes.toString('latin1', at, end), 16);
    if (!(size > 0)) break;
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
  return Buffer.concat(parts).toString();
}

export const eventsOf = (text) =>
  text.split('\n').filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)));

/// The text of an answer's events, whichever API they are of: content, thoughts and tool calls apart.
export function contentOf(text) {
  const parts = { content: '', reasoning: '', calls: '' };
  for (const event of eventsOf(text)) {
    const choice = event.choices?.[0];
    parts.content += choice?.text ?? choice?.delta?.content ?? event.delta?.text ?? '';
    parts.reasoning += choice?.delta?.reasoning_content ?? event.delta?.thinking ?? '';
    if (choice?.delta?.tool_calls) parts.calls += JSON.stringify(choice.delta.tool_calls);
    if (event.type === 'response.output_text.delta') parts.content += event.delta;
    if (event.type === 'response.reasoning_text.delta') parts.reasoning += event.delta;
  }
  return JSON.stringify(parts);
}

/// One streamed answer: its events, when the request left, the first byte came and the last piece of text came (ms).
export function streamOf(port, path, body) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    const pieces = [];
    const times = [];
    let sentMs = 0;
    socket.once('error', reject);
    socket.once('connect', () => {
      sentMs = performance.now();
      socket.write(postBytes(path, body));
    });
    socket.on('data', (bytes) => {
      times.push(performance.now());
      pieces.push(bytes);
    });
    socket.once('close', () => {
      const all = Buffer.concat(pieces);
      const status = Number(all.toString('latin1', 9, 12));
      if (status !== 200) return reject(new Error(all.toString()));
      const lastPiece = pieces.findLastIndex((bytes) => /"text":"|"content":"/.test(bytes.toString('latin1')));
      const text = unchunk(all);
      resolve({ text, events: eventsOf(text), sentMs, firstByteMs: times[0], lastPieceMs: times[lastPiece] });
    });
  });
}
