// SPDX-License-Identifier: MIT
import DOMPurify from 'dompurify';
import { Marked, type Token, type Tokens, type TokensList } from 'marked';
import { escapeHtml, highlighted } from './highlight';

const kTags = [
  'a', 'b', 'blockquote', 'br', 'button', 'code', 'del', 'details', 'div', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr',
  'i', 'input', 'kbd', 'li', 'mark', 'ol', 'p', 'pre', 's', 'span', 'strong', 'sub', 'summary', 'sup', 'table', 'tbody', 'td',
  'th', 'thead', 'tr', 'u', 'ul',
];
const kAttributes = ['class', 'href', 'target', 'rel', 'title', 'start', 'type', 'checked', 'disabled', 'align', 'open', 'tabindex'];
/** Tags that an answer may write itself. Every other one is shown as text, so that nothing the model wrote gets lost. */
const kWrittenTags = /^<\/?(b|br|del|details|em|i|kbd|mark|s|strong|sub|summary|sup|u)\s*\/?>$/i;

const marked = new Marked({
  gfm: true,
  breaks: false,
  renderer: {
    code({ text, lang }: Tokens.Code): string {
      const language = /^[\w+#.-]*/.exec(lang ?? '')?.[0].toLowerCase() ?? '';
      return (
        `<div class="code"><div class="code-bar"><span class="code-language">${escapeHtml(language || 'text')}</span>` +
        `<button type="button" class="code-copy">Copy</button></div>` +
        `<pre tabindex="0"><code>${highlighted(text, language)}\n</code></pre></div>`
      );
    },
    html({ text }: Tokens.HTML | Tokens.Tag): string {
      return text
        .split(/(<[^<>]*>)/)
        .map((part) => (kWrittenTags.test(part) ? part : escapeHtml(part)))
        .join('');
    },
    // A picture would tell its server that the answer was read: it stays a link until it is followed.
    image({ href, text }: Tokens.Image): string {
      return `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`;
    },
    table(token: Tokens.Table): string {
      const row = (cells: Tokens.TableCell[], tag: string) =>
        '<tr>' +
        cells
          .map((cell) => `<${tag}${cell.align ? ` align="${cell.align}"` : ''}>${this.parser.parseInline(cell.tokens)}</${tag}>`)
          .join('') +
        '</tr>';
      const body = token.rows.map((cells) => row(cells, 'td')).join('');
      return `<div class="table" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>`;
    },
  },
});

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer');
});

function sanitized(html: string): string {
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: kTags,
    ALLOWED_ATTR: kAttributes,
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
    // DOMPurify asks of every other attribute too that it looks like such an address.
    ADD_URI_SAFE_ATTR: kAttributes.filter((name) => name !== 'href'),
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
  });
}

/** A paragraph, list, code block and so on: `html` is sanitized. */
export interface Block {
  key: string;
  html: string;
}

/**
 * Renders a growing text. Blocks that did not change since the last call are the same objects, so that an answer costs
 * the rendering of its last block per piece, not of all of it.
 */
export class MarkdownRenderer {
  private known = new Map<string, Block>();

  blocks(text: string): Block[] {
    const tokens = marked.lexer(text);
    const next = new Map<string, Block>();
    const blocks: Block[] = [];
    const links = JSON.stringify(tokens.links);
    let index = 0;
    for (const token of tokens) {
      if (token.type === 'space' || token.type === 'def') continue;
      const key = `${index}:${links.length > 2 ? links : ''}${token.raw}`;
      const block = this.known.get(key) ?? { key: String(index), html: sanitized(html(token, tokens.links)) };
      next.set(key, block);
      blocks.push(block);
      index += 1;
    }
    this.known = next;
    return blocks;
  }
}

function html(token: Token, links: TokensList['links']): string {
  const list = [token] as unknown as TokensList;
  list.links = links;
  return marked.parser(list);
}
