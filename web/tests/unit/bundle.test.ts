// SPDX-License-Identifier: MIT
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build, type Rollup } from 'vite';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const committed = (name: string) => readFileSync(`${root}/dist/${name}`);

describe('the committed bundle', () => {
  it('is what the sources make', { timeout: 60_000 }, async () => {
    process.env['NODE_ENV'] = 'production'; // a test's value would bundle the libraries' checks too
    const built = (await build({ root, mode: 'production', logLevel: 'silent', build: { write: false } })) as Rollup.RollupOutput;
    const files = new Map(built.output.map((file) => [file.fileName, Buffer.from(file.type === 'chunk' ? file.code : file.source)]));
    for (const name of readdirSync(`${root}/public`)) files.set(name, readFileSync(`${root}/public/${name}`));
    expect(readdirSync(`${root}/dist`).sort()).toEqual([...files.keys()].sort());
    // Not toEqual: on a difference it would print the whole bundle.
    for (const [name, content] of files) expect(content.equals(committed(name)), `${name} is old: npm run build`).toBe(true);
  });

  it('runs under a policy without inline scripts and styles, and loads nothing from elsewhere', () => {
    const html = committed('index.html').toString();
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
    for (const [, address] of html.matchAll(/(?:src|href)="([^"]*)"/g)) expect(address).toMatch(/^\.\//);
    expect(committed('page.css').toString()).not.toMatch(/url\((?!["']?data:)|@import/);
  });

  it('stays small', () => {
    const size = readdirSync(`${root}/dist`).reduce((sum, name) => sum + (name === 'licenses.md' ? 0 : committed(name).length), 0);
    expect(size).toBeLessThan(250_000);
  });
});
