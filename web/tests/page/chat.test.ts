// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasChromium, launch, openPage, say, settled } from './browser';
import { call, FakeServer, text, thought } from './fake_server';

describe.skipIf(!hasChromium)('the chat page', () => {
  let browser: Browser;
  let fake: FakeServer;
  let address: string;
  let page: Page;
  let complaints: string[];
  /** Console errors a test provokes; every other one fails it. */
  let expected: RegExp | undefined;

  beforeAll(async () => void (browser = await launch()));
  afterAll(() => browser.close());
  beforeEach(async () => {
    fake = new FakeServer();
    address = await fake.start();
    expected = undefined;
    ({ page, complaints } = await openPage(browser, address));
  });
  afterEach(async () => {
    await page.context().close();
    fake.stop();
    expect(complaints.filter((line) => !expected?.test(line))).toEqual([]);
  });

  const answers = () => page.getByRole('article', { name: 'Model' });
  const lastAnswer = () => answers().last();
  const lastBody = () => fake.asked.at(-1)!.body;

  it('streams an answer as Markdown while it arrives', async () => {
    fake.replies.push({ steps: [...text('# Hel', 'lo\n\nSome **bo', 'ld** text'), { pause: 1500 }, ...text('\n\n- one\n- two')] });
    await say(page, 'Hi');
    await lastAnswer().getByRole('heading', { name: 'Hello' }).waitFor();
    expect(await lastAnswer().locator('strong').textContent()).toBe('bold');
    expect(await lastAnswer().locator('li').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Stop' }).isVisible()).toBe(true);
    await settled(page);
    expect(await lastAnswer().locator('li').allTextContents()).toEqual(['one', 'two']);
    expect(lastBody()).toEqual({
      messages: [{ role: 'user', content: 'Hi' }], stream: true, stream_options: { include_usage: true, include_timings: true },
    });
  });

  it('colours code and copies it', async () => {
    fake.replies.push({ steps: text('```python\ndef f(x):\n', '    return "a < b"\n```\nDone.') });
    await say(page, 'Code');
    await settled(page);
    expect(await lastAnswer().locator('pre .hljs-keyword').allTextContents()).toEqual(['def', 'return']);
    await lastAnswer().getByRole('button', { name: 'Copy', exact: true }).first().click();
    await page.getByText('Copied.').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('def f(x):\n    return "a < b"');
  });

  it('keeps the alignment of columns, the numbers of lists and the ticks of tasks', async () => {
    fake.replies.push({ steps: text('| a | b |\n|---|---:|\n| x | 1 |\n\n', '3. three\n4. four\n\n', '- [x] done\n- [ ] open\n\n```text\ncode\n```') });
    await say(page, 'Lists');
    await settled(page);
    expect(await lastAnswer().locator('td').last().evaluate((cell) => getComputedStyle(cell).textAlign)).toBe('right');
    expect(await lastAnswer().locator('ol').getAttribute('start')).toBe('3');
    const ticks = await lastAnswer().getByRole('checkbox').evaluateAll((list) => (list as HTMLInputElement[]).map((box) => [box.checked, box.disabled]));
    expect(ticks).toEqual([[true, true], [false, true]]);
    expect(await lastAnswer().locator('pre').getAttribute('tabindex')).toBe('0');
  });

  it('shows what the model wrote but runs none of it', async () => {
    const evil = [
      '<script>window.hacked = 1</script> <img src=x onerror="window.hacked = 2"> <svg/onload=hacked=3>',
      '[one](javascript:window.hacked=4) [two](https://example.org) ![pixel](https://example.org/p.png)',
      '<details open ontoggle="window.hacked = 5"><summary>s</summary>d</details> vector<int> and <custom-tag>',
      '```"><img src=x onerror=hacked=6>\ncode\n```', '<a href="data:text/html,x">z</a> <iframe srcdoc="x"></iframe>',
      '<form action="/v1/models"><button formaction="x">go</button></form><style>body{display:none}</style>',
    ].join('\n\n');
    fake.replies.push({ steps: text(evil) });
    await say(page, 'Be evil');
    await settled(page);
    await page.waitForTimeout(200);
    expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
    expect(await lastAnswer().locator('.markdown :is(img, script, iframe, form, style, svg, object)').count()).toBe(0);
    const shown = await lastAnswer().textContent();
    for (const part of ['<script>', 'vector<int>', '<custom-tag>', 'onerror=', '<style>']) expect(shown).toContain(part);
    const links = await lastAnswer().locator('a[href]').evaluateAll((list) => list.map((a) => [a.getAttribute('href'), a.getAttribute('rel')]));
    expect(links.map(([href]) => href)).toEqual(['https://example.org', 'https://example.org/p.png']);
    expect(links.every(([, rel]) => rel === 'noopener noreferrer')).toBe(true);
  });

  it('folds a thought when the answer begins, and opens it on demand', async () => {
    fake.replies.push({ steps: [...thought('First I ', 'ponder.'), { pause: 800 }, ...text('Four.')] });
    await say(page, 'Two and two?');
    await page.getByRole('button', { name: 'Thinking…', expanded: true }).waitFor();
    await page.getByText('First I ponder.').waitFor();
    await settled(page);
    const fold = page.getByRole('button', { name: /^Thought for/ });
    expect(await fold.getAttribute('aria-expanded')).toBe('false');
    expect(await page.getByText('First I ponder.').count()).toBe(0);
    await fold.click();
    await page.getByText('First I ponder.').waitFor();
    expect((await lastAnswer().locator('> .markdown').textContent())?.trim()).toBe('Four.');
  });

  it('shows tool calls as cards, takes their results and goes on', async () => {
    fake.replies.push({
      steps: [...text('Let me look.'), ...call(0, 'c1', 'weather', '{"city":', '"Oslo"}'), ...call(1, 'c2', 'time', '{}')], finish: 'tool_calls',
    });
    fake.replies.push({ steps: text('Sunny in Oslo.') });
    await page.keyboard.press('Alt+s');
    await page.getByLabel('Tools', { exact: true }).fill('[{"type":"function","function":{"name":"weather"}},{"type":"function","function":{"name":"time"}}]');
    await page.getByText('2 offered').waitFor();
    await page.keyboard.press('Escape');
    await say(page, 'Weather?');
    const weather = page.getByRole('region', { name: 'Tool call weather' });
    expect(await weather.locator('code').textContent()).toBe('{\n  "city": "Oslo"\n}');
    expect((lastBody()['tools'] as unknown[]).length).toBe(2);
    await page.getByLabel('Result of weather').fill('{"sky":"clear"}');
    await weather.getByRole('button', { name: 'Give result' }).click();
    expect(fake.asked).toHaveLength(1); // the other call has no result yet
    await page.getByLabel('Result of time').fill('noon');
    await page.getByRole('region', { name: 'Tool call time' }).getByRole('button', { name: 'Give result' }).click();
    await page.getByText('Sunny in Oslo.').waitFor();
    expect(lastBody().messages.slice(1)).toEqual([
      {
        role: 'assistant', content: 'Let me look.', tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
          { id: 'c2', type: 'function', function: { name: 'time', arguments: '{}' } },
        ],
      },
      { role: 'tool', content: '{"sky":"clear"}', tool_call_id: 'c1', name: 'weather' },
      { role: 'tool', content: 'noon', tool_call_id: 'c2', name: 'time' },
    ]);
  });

  it('sends text files along with a message, and refuses others', async () => {
    const file = (name: string, content: string | Buffer) => ({ name, mimeType: '', buffer: Buffer.from(content) });
    await page.getByLabel('Files to attach').setInputFiles([file('a.txt', 'alpha\n'), file('b.md', '```\nbeta\n```'), file('c.bin', Buffer.from([0xff, 0x00]))]);
    await page.getByRole('alert').getByText('c.bin is not a text file.').waitFor();
    await page.getByRole('button', { name: 'Remove a.txt' }).click();
    await page.getByLabel('Files to attach').setInputFiles([file('a2.txt', 'alpha\n')]);
    await page.getByRole('button', { name: 'Remove a2.txt' }).waitFor();
    await say(page, 'Compare.');
    await settled(page);
    expect(lastBody().messages).toEqual([
      { role: 'user', content: 'File b.md:\n````\n```\nbeta\n```\n````\n\nFile a2.txt:\n```\nalpha\n```\n\nCompare.' },
    ]);
    expect(await page.getByRole('article', { name: 'You' }).locator('summary').allTextContents()).toEqual(['b.md', 'a2.txt']);
    expect(await page.getByRole('list', { name: 'Attached files' }).count()).toBe(0);
  });

  it('stops by Escape, keeps what came and continues it', async () => {
    fake.replies.push({ steps: [...text('Once upon'), { pause: 6000 }, ...text(' never')] });
    fake.replies.push({ steps: text(' a time.') });
    await say(page, 'Story');
    await page.getByText('Once upon').waitFor();
    await page.keyboard.press('Escape');
    await settled(page);
    await expect.poll(() => fake.asked[0]!.cancelled).toBe(true);
    await page.getByText('stopped', { exact: false }).first().waitFor();
    await lastAnswer().getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Once upon a time.').waitFor();
    expect(lastBody()).toMatchObject({ continue_final_message: true, add_generation_prompt: false });
    expect(lastBody().messages.at(-1)).toEqual({ role: 'assistant', content: 'Once upon' });
    expect(await answers().count()).toBe(1);
  });

  it('regenerates beside the first answer and walks between the branches', async () => {
    fake.replies.push({ steps: text('First.') }, { steps: text('Second.') });
    await say(page, 'Q');
    await page.getByText('First.').waitFor();
    await settled(page);
    await lastAnswer().getByRole('button', { name: 'Regenerate' }).click();
    await page.getByText('Second.').waitFor();
    await settled(page);
    expect(lastBody().messages).toEqual([{ role: 'user', content: 'Q' }]);
    await page.getByText('2/2').waitFor();
    await page.getByRole('button', { name: 'Previous branch' }).click();
    await page.getByText('First.').waitFor();
    expect(await page.getByText('Second.').count()).toBe(0);
  });

  it('answers an edited message in a new branch and keeps the old one', async () => {
    fake.replies.push({ steps: text('About cats.') }, { steps: text('About dogs.') });
    await say(page, 'Cats');
    await page.getByText('About cats.').waitFor();
    await settled(page);
    const mine = page.getByRole('article', { name: 'You' });
    await mine.hover();
    await mine.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edit the message').fill('Dogs');
    await page.keyboard.press('Control+Enter');
    await page.getByText('About dogs.').waitFor();
    await settled(page);
    expect(lastBody().messages).toEqual([{ role: 'user', content: 'Dogs' }]);
    await mine.getByRole('button', { name: 'Previous branch' }).click();
    await page.getByText('About cats.').waitFor();
    await mine.getByRole('button', { name: 'Next branch' }).click();
    await lastAnswer().getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edit the message').fill('About wolves.');
    await page.getByRole('button', { name: 'Keep as a new branch' }).click();
    await page.getByText('About wolves.').waitFor();
    expect(fake.asked).toHaveLength(2);
    await lastAnswer().getByRole('button', { name: 'Delete from here' }).click();
    await page.getByText('About dogs.').waitFor();
  });

  it('sends the system prompt, the sampler and further fields', async () => {
    await page.getByRole('button', { name: 'Settings of this chat' }).click();
    await page.getByLabel('System prompt').fill('Speak like a fox.');
    await page.getByLabel('Temperature', { exact: true }).fill('0.3');
    await page.getByLabel('Top K', { exact: true }).fill('7');
    await page.getByLabel('Seed', { exact: true }).fill('42');
    await page.getByLabel('Top P, slider').press('ArrowRight');
    await page.getByLabel('Effort').selectOption('none');
    await page.getByLabel('Stop strings, one a line').fill('END\n\nSTOP');
    await page.getByLabel('Further request fields').fill('{"min_tokens": ');
    await page.getByText('Not sent:').waitFor();
    await page.getByLabel('Further request fields').fill('{"min_tokens": 4}');
    await page.getByRole('button', { name: 'Use for new chats' }).click();
    await page.reload();
    await say(page, 'Hi');
    await settled(page);
    expect(lastBody()).toMatchObject({
      temperature: 0.3, top_k: 7, seed: 42, top_p: 0.51, reasoning_effort: 'none', stop: ['END', 'STOP'], min_tokens: 4,
      messages: [{ role: 'system', content: 'Speak like a fox.' }, { role: 'user', content: 'Hi' }],
    });
    await page.getByRole('button', { name: 'Settings of this chat' }).click();
    await page.getByRole('button', { name: 'Reset' }).click();
    await say(page, 'Again');
    await settled(page);
    expect(lastBody()['temperature']).toBeUndefined();
    expect(lastBody().messages[0]!['role']).toBe('user');
  });

  it('shows speed, tokens and how full the context is', async () => {
    fake.replies.push({ steps: [...text('a ', 'b ', 'c '), { pause: 400 }, ...text('d ', 'e '), { pause: 600 }], usage: { prompt_tokens: 3900, completion_tokens: 28, total_tokens: 3928 } });
    await say(page, 'Q');
    await page.getByTestId('speed').getByText(/^\d+\.\d tokens\/s$/).waitFor();
    await settled(page);
    await lastAnswer().getByText('28 tokens · 40.0 tokens/s').waitFor();
    expect(await lastAnswer().locator('.figures').getAttribute('title')).toContain('seed 7');
    expect(await page.locator('meter').getAttribute('aria-label')).toBe('Context: 3928 of 4096 tokens');
    expect(await page.locator('.meter.full').count()).toBe(1);
  });

  it('tells about the model and offers a choice when several are served', async () => {
    await page.getByRole('button', { name: 'About the model tale-test' }).click();
    const dialog = page.getByRole('dialog', { name: 'tale-test' });
    for (const fact of ['gemma4', '4,096 tokens', 'lanner 0.0.test', `${address}v1`]) await dialog.getByText(fact, { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
    fake.models.push({ id: 'tale-test:pirate', object: 'model', context_window: 2048, parent: 'tale-test' });
    await page.reload();
    await page.getByLabel('Model', { exact: true }).selectOption('tale-test:pirate');
    await say(page, 'Hi');
    await settled(page);
    expect(lastBody()['model']).toBe('tale-test:pirate');
  });

  it('keeps conversations over a reload, finds, renames and deletes them', async () => {
    fake.replies.push({ steps: text('Foxes are red.') }, { steps: text('Owls are grey.') });
    await say(page, 'Tell me of foxes');
    await page.getByText('Foxes are red.').waitFor();
    await settled(page);
    await page.keyboard.press('Alt+n');
    await say(page, 'Tell me of owls');
    await page.getByText('Owls are grey.').waitFor();
    await settled(page);
    await page.reload();
    const list = page.getByRole('navigation', { name: 'Conversations' });
    await list.getByRole('button', { name: 'Tell me of foxes', exact: true }).click();
    await page.getByText('Foxes are red.').waitFor();
    await page.getByLabel('Search conversations').fill('grey');
    expect(await list.locator('.entry').allTextContents()).toEqual(['Tell me of owls']);
    await page.getByLabel('Search conversations').fill('');
    await list.getByRole('button', { name: 'Rename Tell me of foxes' }).click();
    await page.getByLabel('Title').fill('Reynard');
    await page.keyboard.press('Enter');
    await list.getByRole('button', { name: 'Reynard', exact: true }).waitFor();
    page.on('dialog', (dialog) => void dialog.accept());
    await list.getByText('Tell me of owls').hover();
    await list.getByRole('button', { name: 'Delete Tell me of owls' }).click();
    await expect.poll(() => list.locator('.entry').allTextContents()).toEqual(['Reynard']);
    await page.waitForTimeout(900);
    await page.reload();
    await list.getByRole('button', { name: 'Reynard', exact: true }).waitFor();
    expect(await list.locator('.entry').count()).toBe(1);
  });

  it('exports as JSON and Markdown, and imports what it exported', async () => {
    fake.replies.push({ steps: [...thought('hm'), ...text('An **answer**.')] });
    await say(page, 'Question');
    await page.getByText('An answer.').waitFor();
    await settled(page);
    const saved = async (button: string) => {
      const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
      return { name: file.suggestedFilename(), path: await file.path() };
    };
    const markdown = await saved('This chat as Markdown');
    expect(markdown.name).toBe('question.md');
    expect(readFileSync(markdown.path, 'utf8')).toBe('# Question\n\n## User\n\nQuestion\n\n## Assistant\n\n> hm\n\nAn **answer**.\n');
    const all = await saved('All chats');
    page.on('dialog', (dialog) => void dialog.accept());
    await page.getByRole('button', { name: 'Delete all' }).click();
    await expect.poll(() => page.locator('.entry').count()).toBe(0);
    await page.getByLabel('File to import').setInputFiles(all.path);
    await page.getByText('1 conversation imported.').waitFor();
    await page.getByText('An answer.').waitFor();
    await page.getByLabel('File to import').setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('{}') });
    await page.getByRole('alert').getByText('does not hold conversations').waitFor();
  });

  it('asks for the key of a protected server and sends it', async () => {
    expected = /401/;
    fake.key = 'sesame';
    await page.reload();
    await page.getByRole('button', { name: 'Enter the key' }).click();
    await page.getByRole('dialog').getByLabel('API key').fill('sesame');
    await page.getByLabel('Remember it in this browser').check();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'About the model tale-test' }).waitFor();
    await say(page, 'Hi');
    await settled(page);
    expect(fake.asked.at(-1)!.authorization).toBe('Bearer sesame');
    await page.reload();
    await page.getByRole('button', { name: 'About the model tale-test' }).waitFor();
    expect(await page.getByText('asks for an API key').count()).toBe(0);
  });

  it('shows refusals, errors in the stream and broken connections, and tries again', async () => {
    expected = /429|ERR_|INCOMPLETE|Failed to load/;
    fake.replies.push({ status: 429, headers: { 'retry-after': '3' }, error: { message: 'the queue is full', type: 'rate_limit_error', code: 'queue_full' } });
    fake.replies.push({ steps: [...text('Half'), { raw: 'data: {"error":{"message":"out of memory","type":"server_error"}}\n\n' }, { pause: 50 }, { hangUp: true }] });
    fake.replies.push({ steps: [...text('Part'), { pause: 200 }, { pause: 50 }, { hangUp: true }] });
    fake.replies.push({ steps: text('At last.') });
    await say(page, 'Q');
    await page.getByRole('alert').getByText('the queue is full').waitFor();
    await page.getByText('try again in 3 s').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').getByText('out of memory').waitFor();
    await page.getByText('Half').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Part').waitFor();
    await page.getByRole('alert').getByText(/could not be reached|connection/).waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('At last.').waitFor();
    await settled(page);
  });

  it('waits while the model is loaded', async () => {
    expected = /503/;
    fake.health = { status: 'loading', progress: 0.4 };
    await page.reload();
    await page.getByText('The model is being loaded (40%)…').waitFor();
    fake.health = { status: 'ok' };
    await page.getByRole('button', { name: 'About the model tale-test' }).waitFor();
    expect(await page.getByText('being loaded').count()).toBe(0);
  });

  it('shows how far a long prompt is read', async () => {
    fake.replies.push({ steps: [{ raw: ': keepalive 512/2048\n\n' }, { pause: 700 }, ...text('Done.')] });
    await say(page, 'Long');
    await page.getByText('Reading, 512 of 2048 tokens').waitFor();
    await page.getByText('Done.').waitFor();
    await settled(page);
  });

  it('follows the system, then the choice of light or dark', async () => {
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await back();
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await back();
    expect(dark).not.toBe(light);
    await page.getByRole('button', { name: /switch to light/ }).click();
    expect(await back()).toBe(light);
    await page.reload();
    expect(await back()).toBe(light);
    await page.getByRole('button', { name: /switch to dark/ }).click();
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await back()).toBe(dark);
  });

  it('can be used with the keyboard alone', async () => {
    fake.replies.push({ steps: text('One.') }, { steps: text('Two.') });
    await page.keyboard.press('Alt+i');
    await page.keyboard.type('line one');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('line two');
    await page.keyboard.press('Enter');
    await settled(page);
    expect(lastBody().messages).toEqual([{ role: 'user', content: 'line one\nline two' }]);
    await page.keyboard.press('Alt+n');
    expect(await answers().count()).toBe(0);
    await page.keyboard.type('other');
    await page.keyboard.press('Enter');
    await page.getByText('Two.').waitFor();
    await settled(page);
    await page.keyboard.press('Alt+ArrowDown');
    await page.getByText('One.').waitFor();
    await page.keyboard.press('Alt+k');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Alt+b');
    expect(await page.getByRole('navigation').count()).toBe(0);
    expect(await page.getByLabel('Message', { exact: true }).evaluate((field) => field === document.activeElement)).toBe(true);
  });

  it('names every control for screen readers', async () => {
    fake.replies.push({ steps: [...thought('hm'), ...text('```js\nlet x;\n```\n'), ...call(0, 'c', 'f', '{}')], finish: 'tool_calls' });
    await page.keyboard.press('Alt+s');
    await say(page, 'Q');
    await page.getByRole('region', { name: 'Tool call f' }).waitFor();
    await settled(page);
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('button, input:not([hidden]), select, textarea, a[href]')]
        .filter((control) => {
          const labels = (control as HTMLInputElement).labels;
          return !(control.getAttribute('aria-label') || control.textContent?.trim() || labels?.length);
        })
        .map((control) => control.outerHTML.slice(0, 120)),
    );
    expect(nameless).toEqual([]);
    expect(await page.getByRole('status').allTextContents()).toContain('The answer is complete.');
  });

  it('follows a growing answer only while its end is in sight', async () => {
    const lines = (from: number) => text(Array.from({ length: 60 }, (_, i) => `- line ${from + i}\n`).join(''));
    fake.replies.push({ steps: [...lines(0), { pause: 600 }, ...lines(60), { pause: 1200 }, ...lines(120)] });
    await say(page, 'Long');
    const log = page.getByRole('log');
    const gap = () => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
    await page.getByText('line 119').waitFor();
    await expect.poll(gap).toBeLessThan(60);
    await log.evaluate((box) => (box.scrollTop = 100));
    await page.getByText('line 179').waitFor();
    await settled(page);
    expect(await log.evaluate((box) => box.scrollTop)).toBe(100);
    await page.getByRole('button', { name: 'Go to the end' }).click();
    expect(await gap()).toBeLessThan(60);
  });

  it('fits a phone: nothing is wider than the screen, and panels lie over the chat', async () => {
    const phone = await openPage(browser, address, { viewport: { width: 360, height: 720 }, hasTouch: true, isMobile: true });
    fake.replies.push({ steps: text('| a | b | c | d | e |\n|---|---|---|---|---|\n| long words here | long words here | long words here | long words here | x |\n\n```\n', 'x'.repeat(300), '\n```\n\n', 'y'.repeat(200)) });
    await say(phone.page, 'Wide');
    await settled(phone.page);
    const wide = () => phone.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(await wide()).toBeLessThanOrEqual(0);
    await phone.page.getByRole('button', { name: 'Conversations' }).tap();
    await phone.page.getByRole('navigation').getByRole('button', { name: 'Wide', exact: true }).tap();
    expect(await phone.page.getByRole('navigation').count()).toBe(0);
    await phone.page.getByRole('button', { name: 'Settings of this chat' }).tap();
    const box = await phone.page.getByRole('complementary').boundingBox();
    expect(box!.x).toBeGreaterThanOrEqual(0);
    expect(box!.x + box!.width).toBeLessThanOrEqual(360);
    expect(await wide()).toBeLessThanOrEqual(0);
    expect(phone.complaints).toEqual([]);
    await phone.page.context().close();
  });
});
