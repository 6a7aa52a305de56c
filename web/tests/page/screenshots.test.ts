// SPDX-License-Identifier: MIT
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { launch, openPage, say, settled } from './browser';
import { call, FakeServer, text, thought } from './fake_server';
import { canServe, kWeather, serve, type Served } from './served';

/** Pictures to look at: SCREENSHOTS=FOLDER npx vitest run screenshots. chat-*.png are those of docs/images. */
const folder = process.env['SCREENSHOTS'];

const kStory = text(
  'Every water drop is a small prism. Sunlight enters it, **bends**, reflects off its back and bends again on the way out:\n\n',
  '1. red leaves at about 42°,\n2. violet at about 40°,\n3. so each colour reaches your eye from its own ring of drops.\n\n',
  'The angle follows from the index of refraction:\n\n```python\nimport math\n\ndef rainbow_angle(n):\n    """Angle in degrees between sun ray and bow."""\n',
  '    i = math.acos(math.sqrt((n * n - 1) / 3))  # least deviation\n    return math.degrees(4 * math.asin(math.sin(i) / n) - 2 * i)\n\nprint(rainbow_angle(1.331))  # red: 42.4\n```\n\n',
  '| colour | index | angle |\n|---|---:|---:|\n| red | 1.331 | 42.4° |\n| violet | 1.343 | 40.6° |\n',
);

async function fill(page: Page, fake: FakeServer): Promise<void> {
  for (const title of ['A name for a grey kitten', 'Packing list for Norway', 'Why is the sea salty?']) {
    fake.replies.push({ steps: text('…') });
    await say(page, title);
    await settled(page);
    await page.keyboard.press('Alt+n');
  }
  fake.replies.push({
    steps: [...thought('The user asks how a rainbow forms. I should explain refraction and give the angle.'), { pause: 1200 }, ...kStory],
    usage: { prompt_tokens: 412, completion_tokens: 318, total_tokens: 1730 }, timings: { predicted_n: 318, predicted_ms: 8600, prompt_n: 400, prompt_ms: 300 },
  });
  await say(page, 'How does a rainbow form? Show me how to compute its angle.');
  await settled(page);
}

describe.skipIf(!folder || !canServe())('screenshots of lanner serve', () => {
  let browser: Browser;
  let served: Served;
  beforeAll(async () => {
    browser = await launch();
    served = await serve('tale-gemma4');
  });
  afterAll(async () => {
    await browser.close();
    served.stop();
  });

  /** The same talk every time; its last question is about the weather, with a tool, or asks for a story. */
  async function talk(page: Page, last: 'weather' | 'story'): Promise<void> {
    await page.keyboard.press('Alt+s');
    await page.getByLabel('Temperature', { exact: true }).fill('0');
    await page.getByLabel('System prompt').fill('You are a friendly storyteller.');
    await page.getByRole('button', { name: 'Use for new chats' }).click();
    await page.keyboard.press('Alt+s');
    for (const wish of ['What is the capital of Norway?', 'Tell me a fairy tale.', 'What is 7 times 8?']) {
      await page.keyboard.press('Alt+n');
      await say(page, wish);
      await settled(page);
    }
    await page.keyboard.press('Alt+n');
    await page.keyboard.press('Alt+s');
    await page.getByLabel('Effort').selectOption('medium');
    if (last === 'weather') await page.getByLabel('Tools', { exact: true }).fill(kWeather);
    await page.keyboard.press('Alt+s');
    await say(page, last === 'weather' ? 'What is the weather in Oslo?' : 'Tell me a short story about a fox and a lantern.');
    await settled(page);
    if (last === 'story') return;
    await page.getByLabel('Result of get_weather').fill('{"sky": "cloudy", "degrees": 21}');
    await page.getByRole('button', { name: 'Give result' }).click();
    await page.getByRole('article', { name: 'Model' }).nth(1).waitFor();
    await settled(page);
  }

  it('on a desktop', async () => {
    const { page } = await openPage(browser, served.address, { viewport: { width: 1280, height: 760 }, colorScheme: 'light' });
    await talk(page, 'weather');
    await page.keyboard.press('Alt+s');
    await page.mouse.move(600, 600);
    await page.waitForTimeout(3500); // the notice goes
    await page.screenshot({ path: `${folder}/chat-desktop.png` });
  });

  it('on a phone', async () => {
    const { page } = await openPage(browser, served.address, { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true, colorScheme: 'dark' });
    await talk(page, 'story');
    await page.getByRole('log').evaluate((box) => (box.scrollTop = 0));
    await page.waitForTimeout(3500);
    await page.screenshot({ path: `${folder}/chat-phone.png` });
  });
});

describe.skipIf(!folder)('screenshots of laid down answers', () => {
  let browser: Browser;
  let fake: FakeServer;
  let address: string;
  beforeAll(async () => {
    browser = await launch();
    fake = new FakeServer();
    fake.models = [{ id: 'demo', context_window: 8192, reasoning: true, tools: true, family: 'gemma4', max_output_tokens: 4096, modalities: { input: ['text'] } }];
    address = await fake.start();
  });
  afterAll(async () => {
    await browser.close();
    fake.stop();
  });

  it('of a desktop', async () => {
    const { page } = await openPage(browser, address, { viewport: { width: 1280, height: 800 }, colorScheme: 'light' });
    await page.screenshot({ path: `${folder}/welcome.png` });
    await fill(page, fake);
    await page.mouse.move(600, 400);
    await page.screenshot({ path: `${folder}/desktop.png` });
    await page.getByRole('button', { name: /^Thought/ }).click();
    await page.keyboard.press('Alt+s');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.screenshot({ path: `${folder}/desktop-dark-settings.png` });
    await page.keyboard.press('Alt+s');
    await page.keyboard.press('Alt+k');
    await page.waitForTimeout(100);
    await page.screenshot({ path: `${folder}/keyboard.png` });
    await page.keyboard.press('Escape');
    fake.replies.push({ steps: [...call(0, 'c1', 'weather', '{"city":"Bergen","days":3}'), ...call(1, 'c2', 'time', '{"zone":"Europe/Oslo"}')], finish: 'tool_calls' });
    await page.keyboard.press('Alt+n');
    await say(page, 'Will there be rainbows in Bergen?');
    await settled(page);
    await page.getByLabel('Result of weather').fill('{"rain": true, "sun": true}');
    await page.getByRole('button', { name: 'Give result' }).first().click();
    await page.screenshot({ path: `${folder}/tools-dark.png` });
    await page.emulateMedia({ colorScheme: 'light' });
    fake.replies.push({ status: 429, headers: { 'retry-after': '3' }, error: { message: 'The queue is full: 256 requests wait.' } });
    await page.keyboard.press('Alt+n');
    await say(page, 'Hello?');
    await page.getByRole('alert').waitFor();
    await page.screenshot({ path: `${folder}/refused.png` });
  });

  it('of a phone', async () => {
    const { page } = await openPage(browser, address, { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true, colorScheme: 'dark' });
    await fill(page, fake);
    await page.screenshot({ path: `${folder}/phone.png` });
    await page.getByRole('log').evaluate((box) => (box.scrollTop = 0));
    await page.screenshot({ path: `${folder}/phone-top.png` });
    await page.getByRole('button', { name: 'Conversations' }).tap();
    await page.screenshot({ path: `${folder}/phone-list.png` });
    await page.getByRole('button', { name: 'Close the list' }).tap();
    await page.getByRole('button', { name: 'Settings of this chat' }).tap();
    await page.screenshot({ path: `${folder}/phone-settings.png` });
  });
});
