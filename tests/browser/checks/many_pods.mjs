// Many pods: lanes scroll in a box of their own, and only those in view are drawn.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawn, filled, named, settled, withPage } from '../reports.mjs';

const { file, report } = named('many-pods');

test('only lanes in view are drawn, and scrolling brings the others', async () => {
  await withPage(file, async (page) => {
    const names = () => page.locator('.lane-label').evaluateAll((labels) => labels.map((label) => label.dataset.key));
    const first = await names();
    assert.ok(first.length < 40 && first.includes('pod-0'), `${first.length} lanes`);
    const last = `pod-${report.pods.length - 1}`;
    await page.locator('.lanes').evaluate((lanes) => { lanes.scrollTop = lanes.scrollHeight; });
    await settled(page);
    const then = await names();
    assert.ok(then.includes(last) && !then.includes('pod-0'), `${then}`);
  });
});

test('keys go through the lanes one after the other', async () => {
  await withPage(file, async (page) => {
    await page.locator('[data-key="pod-0"]').focus();
    for (let i = 1; i <= 40; i += 1) {
      await page.keyboard.press('Tab');
      await drawn(page);
      assert.equal(await page.evaluate(() => document.activeElement.dataset.key), `pod-${i}`);
    }
  });
});

test('the lane of a selected pod is brought into view', async () => {
  await withPage(file, async (page) => {
    await settled(page);
    const place = await page.evaluate(() => {
      const [lane, box] = [document.querySelector('[data-key="pod-100"]'), document.querySelector('.lanes')].map((it) => it.getBoundingClientRect());
      return [lane.top - box.top, box.bottom - lane.bottom];
    });
    assert.ok(place.every((distance) => distance >= 0), `${place}`);
  }, { hash: '#sel=pod-100' });
});

test('the table has every pod', async () => {
  await withPage(file, async (page) => {
    await filled(page);
    assert.equal(await page.locator('table.pods tbody tr').count(), report.pods.length);
  });
});
