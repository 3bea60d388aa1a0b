// Hostile text in every field does nothing but stand there, also where the script shows it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawn, named, withPage } from '../reports.mjs';

const { file, report } = named('hostile');

test('hostile text in panels, tooltips and lists is text', async () => {
  await withPage(file, async (page) => {
    const elements = await page.evaluate(() => document.querySelectorAll('script, img, style').length);
    const keys = [
      ...report.bursts.map((burst) => `burst-${burst.id}`), ...report.pods.map((_, i) => `pod-${i}`),
      ...report.bursts.flatMap((burst) => burst.requests.slice(0, 3)).map((seq) => `request-${seq}`),
    ];
    for (const key of keys) {
      await page.evaluate((hash) => { location.hash = hash; }, `sel=${key}`);
      await drawn(page);
      assert.equal(await page.locator('#panel').isVisible(), true, key);
      await page.evaluate(() => { for (let pass = 0; pass < 3; pass += 1) for (const details of document.querySelectorAll('#panel details')) { details.open = true; details.dispatchEvent(new Event('toggle')); } });
      const text = await page.locator('#panel').innerText();
      assert.ok(text.includes('<img src=x onerror=alert(2)>'), `${key} shows it as text`);
      // eslint-disable-next-line no-control-regex
      assert.equal(text.match(/[\u0000-\u0008\u001b\u200b-\u200f\u2028-\u202e\ufeff]/), null, key);
    }
    for (const target of await page.locator('[data-tip]').all()) await target.dispatchEvent('focusin');
    assert.equal(await page.evaluate(() => document.querySelectorAll('script, img, style').length), elements);
  });
});

test('nothing of it widens the page', async () => {
  for (const width of [360, 1280]) {
    await withPage(file, async (page) => {
      const [wide, view] = await page.evaluate(() => [document.scrollingElement.scrollWidth, innerWidth]);
      assert.ok(wide <= view, `${wide} px in ${view} px`);
    }, { width });
  }
});
