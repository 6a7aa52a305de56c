// SPDX-License-Identifier: MIT
import { useRef } from 'preact/hooks';
import { MarkdownRenderer } from '../markdown/render';
import { copyText } from './clipboard';
import { memo } from './memo';

const BlockView = memo(({ html }: { html: string }) => (
  <div class="block" dangerouslySetInnerHTML={{ __html: html }} />
));

function onClick(event: MouseEvent): void {
  const button = (event.target as Element).closest('.code-copy');
  const code = button?.closest('.code')?.querySelector('pre')?.textContent;
  if (code) void copyText(code.replace(/\n$/, ''));
}

/** Rendered again only when its text changed. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const renderer = useRef<MarkdownRenderer | null>(null);
  renderer.current ??= new MarkdownRenderer();
  return (
    <div class="markdown" onClick={onClick}>
      {renderer.current.blocks(text).map((block) => (
        <BlockView key={block.key} html={block.html} />
      ))}
    </div>
  );
});
