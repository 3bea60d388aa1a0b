// Of a large page the long sections become elements after the timeline is drawn: all of it, by itself, and at once when
// something of it is asked for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filled, named, withPage } from '../reports.mjs';

const { file, report } = named('many-pods');
const last = report.pods.length - 1;
const rows = (page) => page.locator('table.pods tbody tr').count();
/** Opens the page with a browser that is never idle, so that nothing is filled unless it is asked for. */
const busy = (page) => page.addInitScript(() => { globalThis.requestIdleCallback = () => 0; });

test('idle time fills the sections, and says when that is done', async () => {
  await withPage(file, async (page) => {
    await filled(page);
    assert.equal(await rows(page), report.pods.length);
    assert.equal(await page.locator('article.burst[id]').count(), report.bursts.length);
    assert.equal(await page.locator('[aria-busy], .waiting, noscript.later').count(), 0);
  });
});

test('what is filled is what a browser without scripts reads', async () => {
  const texts = (page) => page.evaluate(() => ['bursts', 'pods'].map((id) => document.getElementById(id).textContent));
  let plain;
  await withPage(file, async (page) => { plain = await texts(page); }, { javaScriptEnabled: false });
  await withPage(file, async (page) => {
    await filled(page);
    assert.deepEqual(await texts(page), plain);
  });
  assert.ok(plain[1].includes(report.pods[last].name));
});

test('a pod and a burst that are still text are there when they are selected', async () => {
  for (const [key, words] of [[`pod-${last}`, report.pods[last].name], ['burst-1', 'Evidence against']]) {
    await withPage(file, async (page) => {
      assert.match((await page.locator('#panel').textContent()), new RegExp(words));
    }, { hash: `#sel=${key}`, before: busy });
  }
});

test('an address that names a row of a section that is still text leads to it', async () => {
  await withPage(file, async (page) => {
    assert.equal(await rows(page), report.pods.length);
    await page.waitForFunction((id) => { const { top, bottom } = document.getElementById(id).getBoundingClientRect(); return bottom > 0 && top < innerHeight; }, `pod-${last}`);
  }, { hash: `#pod-${last}`, before: busy });
});

test('before it is printed, everything is there', async () => {
  await withPage(file, async (page) => {
    assert.equal(await rows(page), 0);
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    assert.equal(await rows(page), report.pods.length);
    assert.equal(await page.locator('main details:not([open])').count(), 0);
  }, { before: busy });
});
