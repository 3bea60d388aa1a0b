// The reports under test, opened in pages that notice what should not happen.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after } from 'node:test';
import { launch } from './chromium.mjs';

export const folder = resolve(process.env.REPORTS);
export const artifacts = resolve(process.env.ARTIFACTS);
const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json')));

/** Every timeline: `{ name, kind, file, report }`, and the `cause` that it must name, where a scenario says which. */
export const timelines = manifest.timelines;
/** The other pages' files. */
export const others = manifest.others;
export const named = (name) => timelines.find((timeline) => timeline.name === name);

let browser;
/** The browser; a new one where the last has died. */
const started = async () => {
  if (!browser?.isConnected()) browser = await launch();
  return browser;
};
after(async () => browser?.close());

/**
 * Opens a file of the folder and hands its page to `use`. Afterwards fails if anything was written to the console as
 * an error, thrown, asked for with a dialog, or requested besides the file itself. `before` is handed the page before
 * the file is opened.
 */
export async function withPage(file, use, { hash = '', dark = false, width = 1280, height = 900, javaScriptEnabled = true, media, before } = {}) {
  const context = await (await started()).newContext({
    viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', javaScriptEnabled, reducedMotion: 'reduce', timezoneId: 'Asia/Kolkata',
  });
  const page = await context.newPage();
  const url = pathToFileURL(join(folder, file)).href;
  const wrong = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) wrong.push(`console: ${message.text()}`); });
  page.on('pageerror', (error) => wrong.push(`thrown: ${error.message}`));
  page.on('dialog', async (dialog) => { wrong.push(`dialog: ${dialog.message()}`); await dialog.dismiss(); });
  page.on('request', (request) => { if (request.url().split('#')[0] !== url) wrong.push(`request: ${request.url()}`); });
  page.on('popup', () => wrong.push('a window was opened'));
  try {
    if (media) await page.emulateMedia({ media });
    await before?.(page);
    await page.goto(url + hash);
    if (javaScriptEnabled && file.endsWith('timeline.html')) await page.waitForFunction(() => performance.getEntriesByName('timeline drawn').length > 0);
    await use(page);
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
  }
}

/** The span of time that a timeline shows, ms. */
export async function shownSpan(page) {
  await settled(page);
  const hash = new URLSearchParams(new URL(page.url()).hash.slice(1));
  return hash.get('t')?.split('_').map((seconds) => Number(seconds) * 1e3) ?? null;
}

/**
 * Waits until what was asked for has been drawn and the address says it. The wait runs on the page's own timers, behind
 * those that it has set itself, so that a slow machine makes it longer instead of too short.
 */
export const settled = (page) => page.evaluate(() => new Promise((done) => {
  setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 400);
}));

/** Waits until the sections of a large page have become elements. */
export const filled = (page) => page.waitForFunction(() => document.querySelector('noscript.later') === null);

/** Waits until what the last event asked for has been drawn. */
export const drawn = (page) => page.evaluate(() => new Promise((done) => {
  setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 50);
}));
