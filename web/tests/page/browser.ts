// SPDX-License-Identifier: MIT
import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';

export const kChromium = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
export const hasChromium = existsSync(kChromium);

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: kChromium,
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync',
    ],
  });
}

/** A page with storage of its own. Every complaint of the browser, such as a breach of the policy, lands in `complaints`. */
export async function openPage(
  browser: Browser,
  address: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, acceptDownloads: true, ...options });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: address.replace(/\/$/, '') });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(address);
  await page.getByLabel('Message', { exact: true }).waitFor();
  return { page, complaints };
}

export async function say(page: Page, message: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(message);
  await page.keyboard.press('Enter');
}

/** Waits until no answer is being written. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Send' }).waitFor();
}
