// The address keeps what is shown: span, selection and filters.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { named, settled, shownSpan, timelines, withPage } from '../reports.mjs';

const { file, report } = named('sandbox');

test('an address opens the same span, selection and filters again', async () => {
  let hash;
  await withPage(file, async (page) => {
    await page.locator('.surface').focus();
    await page.keyboard.press('+');
    await page.locator('.burst-mark').first().click();
    await page.getByLabel('Which pods are shown').selectOption('failed');
    await page.getByLabel('Failed requests on which connections').selectOption('new');
    await page.getByLabel('Clock of the axis').selectOption('utc');
    await page.getByLabel('Outcomes shown').getByRole('checkbox').first().uncheck();
    await settled(page);
    hash = new URL(page.url()).hash;
  });
  for (const part of ['t=', 'sel=burst-1', 'pods=failed', 'lane=new', 'clock=utc', 'hide=connect']) assert.ok(hash.includes(part), hash);
  await withPage(file, async (page) => {
    assert.equal(await page.locator('#panel').isVisible(), true);
    assert.equal(await page.getByLabel('Which pods are shown').inputValue(), 'failed');
    assert.equal(await page.getByLabel('Outcomes shown').getByRole('checkbox').first().isChecked(), false);
    assert.equal(await page.locator('.request').count(), 0, 'the outcome is hidden');
    assert.match(await page.locator('.axis text').first().textContent(), /^\d\d:\d\d:\d\d\.\d{3}$/);
    await settled(page);
    assert.equal(new URL(page.url()).hash, hash, 'unchanged by opening it');
  }, { hash });
});

test('a changed address is followed without loading the page again', async () => {
  await withPage(file, async (page) => {
    await page.evaluate(() => { location.hash = 't=2.000_4.000'; });
    const span = await shownSpan(page);
    assert.deepEqual(span.map(Math.round), [2000, 4000]);
    await page.evaluate(() => { location.hash = 'sel=burst-1'; });
    assert.equal(await shownSpan(page), null);
    assert.equal(await page.locator('#panel').isVisible(), true);
  });
});

test('an address that makes no sense shows the whole run', async () => {
  for (const hash of ['#t=9_1', '#t=a_b', '#sel=burst-99', '#sel=constructor-1', '#pods=<script>', '#t=1e99_-1e99&hide=ok,__proto__', '#pods']) {
    await withPage(file, async (page) => {
      assert.equal(await page.locator('#panel').isVisible(), false, hash);
      assert.equal(await page.locator('.lane-label').count(), report.pods.length, hash);
    }, { hash });
  }
});

test('filters choose pods by state and by name, and requests by connection and outcome', async () => {
  await withPage(file, async (page) => {
    const lanes = () => page.locator('.lane-label').count();
    const pods = page.getByLabel('Which pods are shown');
    for (const [value, wanted] of [['old', (pod) => pod.old], ['new', (pod) => !pod.old], ['ended', (pod) => pod.exit || pod.deletion_requested_ms]]) {
      await pods.selectOption(value);
      await settled(page);
      assert.equal(await lanes(), report.pods.filter(wanted).length, value);
    }
    await pods.selectOption('all');
    await page.getByLabel('Show pods whose name contains').fill(report.pods[1].name.slice(-5));
    await settled(page);
    assert.equal(await lanes(), 1);
    await page.getByLabel('Show pods whose name contains').fill('');
    await page.getByLabel('Failed requests on which connections').selectOption('reused');
    await settled(page);
    const reused = await page.locator('.request').count();
    await page.getByLabel('Failed requests on which connections').selectOption('new');
    await settled(page);
    assert.equal(reused + await page.locator('.request').count(), report.requests.failed);
  });
});

for (const { name, file, report } of timelines.filter(({ kind }) => kind === 'shipped')) {
  test(`${name}: an address opens its span, selection and filter, and keeps them`, async () => {
    const [sel, pods] = report.bursts.length > 0 ? ['burst-1', 'failed'] : ['pod-0', 'old'];
    await withPage(file, async (page) => {
      assert.equal(await page.locator('#panel').isVisible(), true);
      assert.equal(await page.getByLabel('Which pods are shown').inputValue(), pods);
      const shown = pods === 'old' ? (pod) => pod.old : (pod) => pod.failed > 0;
      assert.equal(await page.locator('.lane-label').count(), report.pods.filter(shown).length);
      await page.getByLabel('Clock of the axis').selectOption('utc');
      await settled(page);
      const parts = Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));
      assert.deepEqual(parts, { t: '1.000_4.000', sel, pods, clock: 'utc' });
    }, { hash: `#t=1.000_4.000&sel=${sel}&pods=${pods}` });
  });
}
