// SPDX-License-Identifier: MIT
import { describe, expect, it } from 'vitest';
import { SseParser, type SseItem } from '../../src/api/sse';

const bytes = (text: string) => new TextEncoder().encode(text);

function parse(pieces: Uint8Array[]): SseItem[] {
  const parser = new SseParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

const kStream =
  '\uFEFFdata: {"a":"größe 漢字 🦊"}\n\n: keepalive 12/40\r\n\r\nevent: error\rdata: one\rdata:  two\r\rid: 7\nretry: 10\ndata\n\ndata: [DONE]\n\n';
const kItems: SseItem[] = [
  { kind: 'data', event: 'message', data: '{"a":"größe 漢字 🦊"}' },
  { kind: 'comment', text: 'keepalive 12/40' },
  { kind: 'data', event: 'error', data: 'one\n two' },
  { kind: 'data', event: 'message', data: '' },
  { kind: 'data', event: 'message', data: '[DONE]' },
];

describe('the event stream parser', () => {
  it('reads events, comments, fields without value and all three line ends', () => {
    expect(parse([bytes(kStream)])).toEqual(kItems);
  });

  it('gives the same events wherever the bytes are cut in two', () => {
    const all = bytes(kStream);
    for (let cut = 0; cut <= all.length; ++cut) expect(parse([all.slice(0, cut), all.slice(cut)])).toEqual(kItems);
  });

  it('gives the same events byte by byte', () => {
    expect(parse(Array.from(bytes(kStream), (byte) => Uint8Array.of(byte)))).toEqual(kItems);
  });

  it('keeps an event back until its empty line has come', () => {
    const parser = new SseParser();
    expect(parser.push(bytes('data: x\n'))).toEqual([]);
    expect(parser.push(bytes('\n'))).toEqual([{ kind: 'data', event: 'message', data: 'x' }]);
  });
});
