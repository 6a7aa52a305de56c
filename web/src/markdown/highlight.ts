// SPDX-License-Identifier: MIT
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import cpp from 'highlight.js/lib/languages/cpp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';

const kLanguages = {
  bash, cpp, css, diff, go, ini, java, javascript, json, markdown, python, ruby, rust, sql,
  typescript, xml, yaml,
};
for (const [name, language] of Object.entries(kLanguages)) hljs.registerLanguage(name, language);
// Near enough, and their own grammars would be a tenth of the page.
hljs.registerAliases(['c', 'h', 'cuda'], { languageName: 'cpp' });
hljs.registerAliases(['kotlin', 'kt', 'csharp', 'cs', 'c#'], { languageName: 'java' });

/** Longer code stays plain: colouring it again with every token would make the page stutter. */
const kLongest = 40_000;

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** HTML of `code` with its words marked; escaped only, when the language is unknown. */
export function highlighted(code: string, language: string): string {
  if (code.length > kLongest || !hljs.getLanguage(language)) return escapeHtml(code);
  return hljs.highlight(code, { language, ignoreIllegals: true }).value;
}
