// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasChromium, launch, openPage, say, settled } from './browser';
import { canServe, kPolicy, kWeather, serve, type Served } from './served';

const kStory = 'Tell me a short story about a fox and a lantern.';
describe.skipIf(!hasChromium || !canServe()).each(['tale-gemma4', 'tale-qwen3_5'])('the page of lanner serve %s', (model) => {
  let browser: Browser;
  let served: Served;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    browser = await launch();
    served = await serve(model, '--alias', 'tale');
  });
  afterAll(async () => {
    await browser.close();
    served.stop();
  });
  beforeEach(async () => void ({ page, complaints } = await openPage(browser, served.address)));
  afterEach(async () => {
    await page.context().close();
    expect(complaints).toEqual([]);
  });

  /** What the page does alike with every model. */
  const once = it.runIf(model === 'tale-gemma4');
  const answers = () => page.getByRole('article', { name: 'Model' });
  const lastAnswer = () => answers().last();
  const shown = async () => (await lastAnswer().locator('> .markdown').textContent())!.trim();
  const getJson = async (path: string) => (await (await fetch(`${served.address}${path}`)).json()) as Record<string, unknown>;

  /** Opens the settings, fills the fields of these labels and closes them. */
  async function settings(fields: Record<string, string>): Promise<void> {
    await page.keyboard.press('Alt+s');
    for (const [label, value] of Object.entries(fields)) {
      const field = page.getByLabel(label, { exact: true });
      if (label === 'Effort') await field.selectOption(value);
      else await field.fill(value);
    }
    await page.keyboard.press('Alt+s');
  }
  const greedy = (longest: number) => settings({ Temperature: '0', 'Longest answer, tokens': String(longest), Effort: 'none' });
  /** With a server so slow that a reader sees an answer grow. */
  async function slowly(body: (address: string) => Promise<void>): Promise<void> {
    await page.context().close();
    const slow = await serve(model, '--isa', 'reference', '--compute', 'exact', '--threads', '1');
    ({ page, complaints } = await openPage(browser, slow.address));
    try {
      await body(slow.address);
    } finally {
      await page.context().close();
      slow.stop();
    }
  }
  async function ask(message: string): Promise<void> {
    await say(page, message);
    await settled(page);
  }

  once('is the committed bundle, under the policy it was written for, and tells whose work it holds', async () => {
    const reply = await fetch(served.address);
    expect(await reply.text()).toBe(readFileSync(new URL('../../dist/index.html', import.meta.url), 'utf8'));
    expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(reply.headers.get('content-security-policy')).toBe(kPolicy);
    const again = await fetch(served.address, { headers: { 'if-none-match': reply.headers.get('etag')! } });
    expect(again.status).toBe(304);
    await page.getByRole('button', { name: /^About the model/ }).click();
    const [licenses] = await Promise.all([page.waitForEvent('popup'), page.getByRole('link', { name: 'libraries' }).click()]);
    await licenses.getByText('preact').first().waitFor();
  });

  once('tells about the model, and offers its other names', async () => {
    const names = page.getByLabel('Model', { exact: true }).locator('option');
    await expect.poll(() => names.allTextContents()).toEqual([model, 'tale']);
    await page.getByRole('button', { name: `About the model ${model}` }).click();
    const dialog = page.getByRole('dialog');
    const fact = (name: string) => dialog.locator(`dt:text-is("${name}") + dd`).textContent();
    const [info] = (await getJson('v1/models'))['data'] as Record<string, unknown>[];
    expect(await fact('Family')).toBe(info!['family']);
    expect(await fact('Context')).toBe(`${(info!['context_window'] as number).toLocaleString('en')} tokens`);
    expect(await fact('Tools')).toBe('yes');
    expect(await fact('Server')).toBe(`lanner ${String((await getJson('version'))['version'])}`);
    await page.keyboard.press('Escape');
    await page.getByLabel('Model', { exact: true }).selectOption('tale');
    await greedy(4);
    await ask('Hello');
    expect(await lastAnswer().locator('.figures').getAttribute('title')).toContain('tale');
  });

  it('streams an answer, counts tokens and speed, and repeats a greedy answer', () =>
    slowly(async () => {
      await greedy(40);
      await page.getByRole('log').evaluate((log) => {
        const lengths = new Set<number>();
        Object.assign(window, { lengths });
        new MutationObserver(() => lengths.add(log.querySelector('.message.assistant')?.textContent?.length ?? 0)).observe(log, { subtree: true, childList: true, characterData: true });
      });
      await ask(kStory);
      expect(await page.evaluate(() => (window as unknown as { lengths: Set<number> }).lengths.size)).toBeGreaterThan(3);
      const first = await shown();
      expect(first.length).toBeGreaterThan(40);
      await lastAnswer().getByText(/\d+ tokens · \d+(\.\d)? tokens\/s/).waitFor();
      const usage = /(\d+) tokens/.exec((await lastAnswer().locator('.figures').textContent())!)!;
      const prompt = /prompt: (\d+) tokens/.exec((await lastAnswer().locator('.figures').getAttribute('title'))!)!;
      const [info] = (await getJson('v1/models'))['data'] as Record<string, unknown>[];
      expect(await page.locator('meter').getAttribute('aria-label')).toBe(
        `Context: ${Number(usage[1]) + Number(prompt[1])} of ${String(info!['context_window'])} tokens`,
      );
      await lastAnswer().getByRole('button', { name: 'Regenerate' }).click();
      await page.getByText('2/2').waitFor();
      await settled(page);
      expect(await shown()).toBe(first);
    }));

  it('shows Markdown and coloured code as the server sends it', async () => {
    const markdown = '# Rain\n\nSome **bold** words:\n\n- one\n- two\n\n```python\ndef fall(drops):\n    return drops < 3\n```\n';
    await settings({ Effort: 'none', 'Further request fields': JSON.stringify({ structured_outputs: { choice: [markdown] } }) });
    await ask('Write about rain.');
    expect(await lastAnswer().getByRole('heading', { name: 'Rain' }).count()).toBe(1);
    expect(await lastAnswer().locator('strong').textContent()).toBe('bold');
    expect(await lastAnswer().locator('li').allTextContents()).toEqual(['one', 'two']);
    expect(await lastAnswer().locator('pre .hljs-keyword').allTextContents()).toEqual(['def', 'return']);
    await lastAnswer().getByRole('button', { name: 'Copy', exact: true }).first().click();
    await page.getByText('Copied.').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('def fall(drops):\n    return drops < 3');
  });

  it('folds what the model thinks', async () => {
    await settings({ Temperature: '0', Effort: 'high', 'Longest answer, tokens': '120' });
    await ask('What is 7 times 8?');
    const fold = lastAnswer().getByRole('button', { name: /^Thought/ });
    expect(await fold.getAttribute('aria-expanded')).toBe('false');
    await fold.click();
    expect((await lastAnswer().locator('.thought-text').textContent())!.trim().length).toBeGreaterThan(5);
    expect((await shown()).length).toBeGreaterThan(0);
    expect(await lastAnswer().locator('.figures').getAttribute('title')).toMatch(/thought: [1-9]\d* tokens/);
  });

  it('shows a tool call as a card, takes its result and lets the model go on', async () => {
    await settings({ Temperature: '0', Effort: 'none', Tools: kWeather, 'Further request fields': '{"tool_choice": "required"}' });
    await ask('What is the weather in Oslo?');
    const card = page.getByRole('region', { name: 'Tool call get_weather' });
    const call = JSON.parse((await card.locator('pre').first().textContent())!) as { city: string };
    expect(Object.keys(call)).toEqual(['city']);
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    await settings({ 'Further request fields': '{"tool_choice": "none"}', 'Longest answer, tokens': '30' });
    await page.getByLabel('Result of get_weather').fill('{"sky": "clear", "degrees": 21}');
    await card.getByRole('button', { name: 'Give result' }).click();
    await expect.poll(() => answers().count()).toBe(2);
    await settled(page);
    expect((await shown()).length).toBeGreaterThan(0);
    await card.getByText('"degrees": 21').waitFor();
  });

  once('answers an edited message in a branch of its own', async () => {
    await greedy(16);
    await ask(kStory);
    const fox = await shown();
    const mine = page.getByRole('article', { name: 'You' });
    await mine.hover();
    await mine.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edit the message').fill('What is the capital of France?');
    await page.keyboard.press('Control+Enter');
    await page.getByText('2/2').waitFor();
    await settled(page);
    const capital = await shown();
    expect(capital).not.toBe(fox);
    await mine.getByRole('button', { name: 'Previous branch' }).click();
    expect(await shown()).toBe(fox);
  });

  it('samples as the panel says: a seed repeats an answer, another changes it', async () => {
    await settings({ Temperature: '1', Seed: '42', Effort: 'none', 'Longest answer, tokens': '24', 'Stop strings, one a line': 'zebra' });
    await ask(kStory);
    const first = await shown();
    expect(await lastAnswer().locator('.figures').getAttribute('title')).toContain('seed 42');
    await lastAnswer().getByRole('button', { name: 'Regenerate' }).click();
    await page.getByText('2/2').waitFor();
    await settled(page);
    expect(await shown()).toBe(first);
    await settings({ Seed: '43' });
    await lastAnswer().getByRole('button', { name: 'Regenerate' }).click();
    await page.getByText('3/3').waitFor();
    await settled(page);
    expect(await shown()).not.toBe(first);
  });

  once('gives the model the system prompt', async () => {
    await greedy(4);
    await settings({ 'System prompt': 'You are a patient teacher of owls.' });
    await ask('Hello');
    const prompt = /prompt: (\d+) tokens/.exec((await lastAnswer().locator('.figures').getAttribute('title'))!)![1];
    const direct = await fetch(`${served.address}v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        messages: [{ role: 'system', content: 'You are a patient teacher of owls.' }, { role: 'user', content: 'Hello' }],
        temperature: 0, max_tokens: 4, reasoning_effort: 'none',
      }),
    });
    const body = (await direct.json()) as { usage: { prompt_tokens: number }; choices: { message: { content: string } }[] };
    expect(Number(prompt)).toBe(body.usage.prompt_tokens);
    expect(await shown()).toBe(body.choices[0]!.message.content.trim());
  });

  it('goes on with an answer that reached its longest length', async () => {
    await greedy(12);
    await say(page, kStory);
    await page.getByText('The answer was cut').waitFor();
    const first = await shown();
    await lastAnswer().getByRole('button', { name: 'Continue' }).click();
    await settled(page);
    const longer = await shown();
    expect(longer.length).toBeGreaterThan(first.length);
    expect(longer.startsWith(first)).toBe(true);
  });

  it('stops the engine when the reader stops', () =>
    slowly(async (address) => {
      await settings({ Effort: 'none', 'Further request fields': '{"ignore_eos": true}' });
      await say(page, 'Tell me a long story.');
      await page.getByTestId('speed').getByText(/tokens\/s/).waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await settled(page);
      await lastAnswer().locator('.figures').getByText(/stopped/).waitFor();
      expect((await shown()).length).toBeGreaterThan(0);
      const running = async () => ((await (await fetch(`${address}stats`)).json()) as Record<string, unknown>)['running'];
      await expect.poll(running).toBe(0);
    }));

  once('keeps conversations in the browser, exports and imports them', async () => {
    await greedy(16);
    await ask(kStory);
    const story = await shown();
    await page.reload();
    const list = page.getByRole('navigation', { name: 'Conversations' });
    await list.getByRole('button', { name: kStory, exact: true }).click();
    expect(await shown()).toBe(story);
    const saved = async (button: string) => {
      const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
      return file.path();
    };
    expect(readFileSync(await saved('This chat as Markdown'), 'utf8')).toContain(`## User\n\n${kStory}\n\n## Assistant\n\n`);
    const all = await saved('All chats');
    page.on('dialog', (dialog) => void dialog.accept());
    await page.getByRole('button', { name: 'Delete all' }).click();
    await expect.poll(() => page.locator('.entry').count()).toBe(0);
    await page.getByLabel('File to import').setInputFiles(all);
    await page.getByText('1 conversation imported.').waitFor();
    expect(await shown()).toBe(story);
  });

  once('works with the keyboard alone, light and dark', async () => {
    await page.keyboard.press('Alt+s');
    await page.getByLabel('Longest answer, tokens').fill('4');
    await page.getByRole('button', { name: 'Use for new chats' }).click();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Alt+i');
    await page.keyboard.type('One');
    await page.keyboard.press('Enter');
    await settled(page);
    await page.keyboard.press('Alt+n');
    await page.keyboard.type('Two');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('lines');
    await page.keyboard.press('Enter');
    await settled(page);
    expect(await page.locator('.said').textContent()).toBe('Two\nlines');
    await page.keyboard.press('Alt+ArrowDown');
    await expect.poll(() => page.locator('.said').textContent()).toBe('One');
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.getByRole('button', { name: /switch to light/ }).press('Enter');
    const light = await back();
    await page.getByRole('button', { name: /switch to dark/ }).press('Enter');
    expect(await back()).not.toBe(light);
  });

  once('fits a phone, where everything can be reached by touch', async () => {
    const phone = await openPage(browser, served.address, { viewport: { width: 360, height: 720 }, hasTouch: true, isMobile: true });
    const wide = () => phone.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    await phone.page.getByRole('button', { name: 'Settings of this chat' }).tap();
    await phone.page.getByLabel('Longest answer, tokens').fill('40');
    expect(await wide()).toBeLessThanOrEqual(0);
    await phone.page.getByRole('button', { name: 'Close the settings' }).tap();
    await phone.page.getByLabel('Message', { exact: true }).fill(kStory);
    await phone.page.getByRole('button', { name: 'Send' }).tap();
    await settled(phone.page);
    expect(await wide()).toBeLessThanOrEqual(0);
    await phone.page.getByRole('button', { name: 'Regenerate' }).tap();
    await phone.page.getByText('2/2').waitFor();
    await settled(phone.page);
    expect(phone.complaints).toEqual([]);
    await phone.page.context().close();
  });

  once('shows the refusal of a value out of range', async () => {
    await settings({ 'Further request fields': '{"temperature": 99}' });
    await say(page, 'Hi');
    await page.getByRole('alert').getByText(/temperature/).waitFor();
    complaints.splice(0, complaints.length, ...complaints.filter((line) => !line.includes('400')));
  });
});

describe.skipIf(!hasChromium || !canServe())('the page of lanner serve --api-key', () => {
  let browser: Browser;
  let served: Served;
  beforeAll(async () => {
    browser = await launch();
    served = await serve('tale-qwen3_5', '--api-key', 'sesame');
  });
  afterAll(async () => {
    await browser.close();
    served.stop();
  });

  it('asks for the key, and says when the server is gone and when it is back', async () => {
    const { page } = await openPage(browser, served.address);
    await page.getByRole('button', { name: 'Enter the key' }).click();
    await page.getByRole('dialog').getByLabel('API key').fill('sesame');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'About the model tale-qwen3_5' }).waitFor();
    await say(page, 'Hello');
    await settled(page);
    expect((await page.locator('.message.assistant > .markdown').textContent())!.length).toBeGreaterThan(0);
    const { port } = new URL(served.address);
    await served.kill();
    await say(page, 'Are you there?');
    await page.getByText('The server does not answer.').waitFor();
    served = await serve('tale-qwen3_5', '--api-key', 'sesame', '--port', port);
    await expect.poll(() => page.getByText('The server does not answer.').count()).toBe(0);
    await page.getByRole('button', { name: 'Try again' }).click();
    await settled(page);
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.context().close();
  });
});
