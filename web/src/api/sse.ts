// SPDX-License-Identifier: MIT

/** One thing a server-sent event stream says. A comment line is what follows its colon. */
export type SseItem = { kind: 'data'; event: string; data: string } | { kind: 'comment'; text: string };

/**
 * Cuts the bytes of an event stream into events, however the network cut them: characters, lines and events may be
 * split anywhere. Source: WHATWG HTML, 9.2 "Server-sent events".
 */
export class SseParser {
  private readonly decoder = new TextDecoder('utf-8'); // also drops a byte order mark
  private text = '';
  private event = '';
  private data: string[] = [];

  push(bytes: Uint8Array): SseItem[] {
    this.text += this.decoder.decode(bytes, { stream: true });
    return this.lines();
  }

  private lines(): SseItem[] {
    const items: SseItem[] = [];
    const lineEnd = /[\r\n]/g;
    let start = 0;
    for (;;) {
      lineEnd.lastIndex = start;
      const end = lineEnd.exec(this.text)?.index;
      if (end === undefined) break;
      // A carriage return at the very end may be half of a line end.
      if (this.text[end] === '\r' && end + 1 === this.text.length) break;
      this.line(this.text.slice(start, end), items);
      start = end + (this.text[end] === '\r' && this.text[end + 1] === '\n' ? 2 : 1);
    }
    this.text = this.text.slice(start);
    return items;
  }

  private line(line: string, items: SseItem[]): void {
    if (line === '') {
      if (this.data.length > 0) items.push({ kind: 'data', event: this.event || 'message', data: this.data.join('\n') });
      this.data = [];
      this.event = '';
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) {
      items.push({ kind: 'comment', text: line.slice(1).trim() });
      return;
    }
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.data.push(value);
    if (field === 'event') this.event = value;
  }
}
