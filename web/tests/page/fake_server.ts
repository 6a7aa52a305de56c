// SPDX-License-Identifier: MIT
import { readFileSync, existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { kPolicy } from './served';

const dist = fileURLToPath(new URL('../../dist', import.meta.url));
const kTypes: Record<string, string> = {
  html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml', md: 'text/plain; charset=utf-8',
};
/** What the page asked for. */
export interface Asked {
  body: Record<string, unknown> & { messages: Record<string, unknown>[] };
  authorization?: string;
  /** The page closed the connection before the answer was complete. */
  cancelled: boolean;
}

/** A delta of an answer, a pause in ms, raw bytes, or the end of the connection. */
export type Step = { delta: object } | { pause: number } | { raw: string } | { hangUp: true };

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  error?: object;
  steps?: Step[];
  finish?: string;
  usage?: object;
  timings?: object;
}

export const text = (...pieces: string[]): Step[] => pieces.map((content) => ({ delta: { content } }));
export const thought = (...pieces: string[]): Step[] => pieces.map((reasoning_content) => ({ delta: { reasoning_content } }));
export const call = (index: number, id: string, name: string, ...pieces: string[]): Step[] => [
  { delta: { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] } },
  ...pieces.map((piece) => ({ delta: { tool_calls: [{ index, function: { arguments: piece } }] } })),
];

/** Speaks the part of the API that the page uses, with answers that a test lays down before. */
export class FakeServer {
  readonly asked: Asked[] = [];
  readonly replies: Reply[] = [];
  health: object = { status: 'ok' };
  key = '';
  models: object[] = [
    {
      id: 'tale-test', object: 'model', owned_by: 'lanner', context_window: 4096, max_output_tokens: 2048, family: 'gemma4',
      modalities: { input: ['text'], output: ['text'] }, reasoning: true, tools: true, adapters: [],
    },
  ];
  private readonly server: Server = createServer((request, response) => void this.answer(request, response));

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url!, 'http://x').pathname;
    const json = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
    if (path === '/health') return void json('status' in this.health && this.health.status === 'ok' ? 200 : 503, this.health);
    if (path.startsWith('/v1/') || path === '/version') {
      if (this.key && request.headers.authorization !== `Bearer ${this.key}`)
        return void json(401, { error: { message: 'the API key is wrong', type: 'authentication_error', code: 'invalid_api_key' } });
      if (path === '/version') return void json(200, { version: '0.0.test', device: 'cpu' });
      if (path === '/v1/models') return void json(200, { object: 'list', data: this.models });
      return this.chat(request, response);
    }
    const file = `${dist}${path === '/' ? '/index.html' : path}`;
    if (!existsSync(file)) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': kTypes[file.split('.').pop()!]!, 'content-security-policy': kPolicy }).end(readFileSync(file));
  }

  private async chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const piece of request) body += String(piece);
    const asked: Asked = { body: JSON.parse(body), authorization: request.headers.authorization, cancelled: false };
    this.asked.push(asked);
    response.on('close', () => (asked.cancelled = !response.writableFinished));
    const reply = this.replies.shift() ?? { steps: text('No answer was laid down.') };
    if (reply.error) {
      response.writeHead(reply.status ?? 500, { 'content-type': 'application/json', ...reply.headers });
      return void response.end(JSON.stringify({ error: reply.error }));
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    const chunk = (choices: object[], more: object = {}) =>
      response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'tale-test', choices, usage: null, ...more })}\n\n`);
    chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]);
    for (const step of reply.steps ?? []) {
      if (asked.cancelled) return;
      if ('pause' in step) await new Promise((resolve) => setTimeout(resolve, step.pause));
      else if ('raw' in step) response.write(step.raw);
      else if ('hangUp' in step) return void response.destroy();
      else chunk([{ index: 0, delta: step.delta, finish_reason: null }]);
    }
    chunk([{ index: 0, delta: {}, finish_reason: reply.finish ?? 'stop' }]);
    chunk([], {
      usage: reply.usage ?? { prompt_tokens: 100, completion_tokens: 28, total_tokens: 128, prompt_tokens_details: { cached_tokens: 64 } },
      lanner: { seed: 7, timings: reply.timings ?? { prompt_n: 36, prompt_ms: 18, predicted_n: 28, predicted_ms: 700 } },
    });
    response.end('data: [DONE]\n\n');
  }
}
