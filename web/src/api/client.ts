// SPDX-License-Identifier: MIT
import { addStreamItem, emptyAnswer, type Answer, type StreamError } from './chat_stream';
import { SseParser } from './sse';
import type { ChatRequest, ModelInfo } from './types';

/** A request the server did not fulfil. */
export class ApiError extends Error {
  constructor(readonly details: StreamError) {
    super(details.message);
  }
}

export type Health = { status: 'ok' | 'loading' | 'draining' | 'unreachable'; progress?: number };

function headers(key: string): Record<string, string> {
  return key ? { authorization: `Bearer ${key}` } : {};
}

/** Routes are relative to the page, so that it also works behind a proxy's path. */
function route(path: string): URL {
  return new URL(path, document.baseURI);
}

async function failure(response: Response): Promise<ApiError> {
  const body = await response.text().catch(() => '');
  const details: StreamError = { message: `${response.status} ${response.statusText}`.trim(), status: response.status };
  try {
    const json = JSON.parse(body) as { error?: Partial<StreamError> | string };
    if (typeof json.error === 'string') details.message = json.error;
    else Object.assign(details, json.error);
  } catch {
    if (body && !body.startsWith('<')) details.message += `: ${body.slice(0, 200)}`;
  }
  details.status = response.status;
  const retry = Number(response.headers.get('retry-after'));
  if (retry > 0) details.retryAfter = retry;
  return new ApiError(details);
}

async function getJson<T>(path: string, key: string): Promise<T> {
  const response = await fetch(route(path), { headers: headers(key) });
  if (!response.ok) throw await failure(response);
  return (await response.json()) as T;
}

export async function health(): Promise<Health> {
  try {
    const response = await fetch(route('health'));
    const body = (await response.json()) as Health;
    return body.status ? body : { status: response.ok ? 'ok' : 'unreachable' };
  } catch {
    return { status: 'unreachable' };
  }
}

export async function listModels(key: string): Promise<ModelInfo[]> {
  return (await getJson<{ data: ModelInfo[] }>('v1/models', key)).data;
}

export function version(key: string): Promise<{ version?: string; device?: string | null }> {
  return getJson('version', key);
}

/**
 * Streams one chat completion. `onChange` sees the growing answer after each piece that arrives from the network.
 * A stop by `signal` is not an error: the answer so far is returned with complete = false.
 */
export async function streamChat(
  request: ChatRequest,
  options: { key: string; signal: AbortSignal; onChange: (answer: Answer) => void },
): Promise<Answer> {
  const answer = emptyAnswer();
  try {
    const response = await fetch(route('v1/chat/completions'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers(options.key) },
      body: JSON.stringify({
        ...request,
        stream: true,
        stream_options: { include_usage: true, include_timings: true },
      }),
      signal: options.signal,
    });
    if (!response.ok || !response.body) throw await failure(response);
    await readStream(response.body, answer, options.onChange);
    if (!answer.complete && !answer.error)
      answer.error = { message: 'The connection ended before the answer was complete.' };
  } catch (error) {
    if (options.signal.aborted) return answer;
    answer.error =
      error instanceof ApiError ? error.details : { message: 'The server could not be reached, or the connection broke.' };
  }
  return answer;
}

async function readStream(
  body: ReadableStream<Uint8Array>,
  answer: Answer,
  onChange: (answer: Answer) => void,
): Promise<void> {
  const parser = new SseParser();
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const items = parser.push(value);
    for (const item of items) addStreamItem(answer, item);
    if (items.length > 0) onChange(answer);
    if (answer.complete || answer.error) {
      void reader.cancel();
      return;
    }
  }
}
