// SPDX-License-Identifier: MIT
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasChromium, launch, openPage, say, settled } from './browser';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const program = process.env['LANNER'] ?? `${root}build/release/lanner`;
/** A program that is there and can serve. */
const canServe = existsSync(program) && spawnSync(program, ['serve', '--help']).status === 0;
/** PNG files of the page with a real answer are written there. */
const pictures = process.env['SCREENSHOTS'];

/** Runs lanner serve on a free port; resolves to its address. */
async function serve(model: string, ...options: string[]): Promise<{ child: ChildProcess; address: string }> {
  const child = spawn(program, ['serve', `${root}models/${model}`, '--port', '0', ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const address = new Promise<string>((resolve, reject) => {
    const read = (bytes: Buffer) => {
      said += bytes.toString();
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (found) resolve(`${found[0]}/`);
    };
    child.stdout!.on('data', read);
    child.stderr!.on('data', read);
    child.on('exit', () => reject(new Error(`lanner serve ended: ${said}`)));
  });
  return { child, address: await address };
}

describe.skipIf(!hasChromium || !canServe).each(['tale-gemma4', 'tale-qwen3_5'])('the page of lanner serve %s', (model) => {
  let browser: Browser;
  let child: ChildProcess;
  let address: string;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    browser = await launch();
    ({ child, address } = await serve(model, '--alias', 'tale'));
  });
  afterAll(async () => {
    await browser.close();
    child.kill();
  });
  beforeEach(async () => void ({ page, complaints } = await openPage(browser, address)));
  afterEach(async () => {
    await page.context().close();
    expect(complaints).toEqual([]);
  });

  const answers = () => page.getByRole('article', { name: 'Model' });
  async function greedy(longest: number): Promise<void> {
    await page.keyboard.press('Alt+s');
    await page.getByLabel('Temperature', { exact: true }).fill('0');
    await page.getByLabel('Longest answer, tokens').fill(String(longest));
    await page.getByLabel('Effort').selectOption('none');
    await page.keyboard.press('Alt+s');
  }

  it('is the committed bundle, under the policy it was written for', async () => {
    const reply = await fetch(address);
    expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(reply.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(await page.getByLabel('Model', { exact: true }).locator('option').allTextContents()).toEqual([model, 'tale']);
  });

  it('answers, counts tokens and speed, and repeats a greedy answer', { timeout: 60_000 }, async () => {
    await greedy(40);
    await say(page, 'Tell me a short story about a fox and a lantern.');
    await settled(page);
    const first = await answers().last().locator('.markdown').textContent();
    expect(first!.length).toBeGreaterThan(40);
    await answers().last().getByText(/\d+ tokens · \d+(\.\d)? tokens\/s/).waitFor();
    expect(await page.locator('meter').getAttribute('aria-label')).toMatch(/^Context: [1-9]\d* of \d+ tokens$/);
    await answers().last().getByRole('button', { name: 'Regenerate' }).click();
    await page.getByText('2/2').waitFor();
    await settled(page);
    expect(await answers().last().locator('.markdown').textContent()).toBe(first);
  });

  it('goes on with an answer that reached its longest length', { timeout: 60_000 }, async () => {
    await greedy(12);
    await say(page, 'Tell me a short story about a fox and a lantern.');
    await page.getByText('The answer was cut').waitFor();
    const first = (await answers().last().locator('.markdown').textContent())!.trim();
    await answers().last().getByRole('button', { name: 'Continue' }).click();
    await settled(page);
    const longer = (await answers().last().locator('.markdown').textContent())!.trim();
    expect(longer.length).toBeGreaterThan(first.length);
    expect(longer.startsWith(first)).toBe(true);
  });

  it('stops the engine when the reader stops', { timeout: 60_000 }, async () => {
    await page.keyboard.press('Alt+s');
    await page.getByLabel('Further request fields').fill('{"ignore_eos": true}');
    await page.keyboard.press('Alt+s');
    await say(page, 'Tell me a long story.');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.getByTestId('speed').getByText(/tokens\/s/).waitFor();
    await page.keyboard.press('Escape');
    await settled(page);
    const running = async () => ((await (await fetch(`${address}stats`)).json()) as { running: number }).running;
    await expect.poll(running, { timeout: 5000 }).toBe(0);
  });

  it('shows the refusal of a value out of range', async () => {
    complaints.length = 0;
    await page.keyboard.press('Alt+s');
    await page.getByLabel('Further request fields').fill('{"temperature": 99}');
    await page.keyboard.press('Alt+s');
    await say(page, 'Hi');
    await page.getByRole('alert').getByText(/temperature/).waitFor();
    complaints.splice(0, complaints.length, ...complaints.filter((line) => !line.includes('400')));
  });

  it.skipIf(!pictures)('is shown in pictures', { timeout: 90_000 }, async () => {
    for (const [name, options] of Object.entries({
      desktop: { viewport: { width: 1200, height: 760 }, colorScheme: 'light' as const },
      phone: { viewport: { width: 390, height: 760 }, colorScheme: 'dark' as const, isMobile: true, hasTouch: true },
    })) {
      const shown = await openPage(browser, address, options);
      for (const wish of ['Tell me a fairy tale.', 'Tell me a short story about a fox and a lantern.']) {
        await shown.page.keyboard.press('Alt+n');
        await say(shown.page, wish);
        await settled(shown.page);
      }
      await shown.page.waitForTimeout(400);
      await shown.page.screenshot({ path: `${pictures}/chat-${name}-${model}.png` });
      await shown.page.context().close();
    }
  });
});
