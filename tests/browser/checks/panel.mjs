// The panel of a burst, a pod and a request: evidence, and the records that it rests on.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, named, withPage } from '../reports.mjs';

const { file, report } = named('sandbox');
const burst = report.bursts[0];
const panel = (page) => page.locator('#panel');

test('a click on a burst opens its evidence for and against, what was ruled out, and its requests', async () => {
  await withPage(file, async (page) => {
    await page.locator('.burst-mark').first().click();
    const text = await panel(page).innerText();
    for (const item of [...burst.evidence, ...burst.against]) assert.ok(text.includes(item.text.replaceAll('`', '')), item.text);
    for (const item of burst.ruled_out) assert.ok(text.includes(item.cause) && text.includes(item.why.replaceAll('`', '')), item.cause);
    assert.match(text, /evidence for/i);
    assert.match(text, /evidence against/i);
    assert.match(text, /ruled out/i);
    assert.match(text, /local/);
    assert.match(text, /UTC/);
    await panel(page).getByText(`Failed requests (${burst.failed})`).click();
    await panel(page).getByRole('table').last().getByRole('row').nth(burst.failed).waitFor();
    assert.equal(await panel(page).getByRole('table').last().getByRole('row').count(), burst.failed + 1);
  });
});

test('each piece of evidence opens into the records that it rests on', async () => {
  await withPage(file, async (page) => {
    await page.locator('.burst-mark').first().click();
    const evidence = panel(page).locator('li[data-evidence]');
    assert.equal(await evidence.count(), burst.evidence.length + burst.against.length);
    for (const [i, item] of burst.evidence.entries()) {
      const records = evidence.nth(i).locator('.records');
      await records.locator('summary').first().click();
      await records.locator('ul.lines').first().waitFor(); // filled when it opens, a moment later
      const text = await records.innerText();
      if (item.id === 'log_line') assert.ok(text.includes('"ev":"sigterm"'), text);
      if (item.id === 'after_deletion') assert.match(text, /deletionTimestamp=/);
      if (item.id === 'ended_early') assert.match(text, /terminated: exit 0/);
      if (/failure/.test(item.text)) assert.match(text, /slot \d+ connect_refused/);
    }
  });
});

/** What the API server sent of a pod, as the recording has it. */
function recordedObjects(uid) {
  const lines = readFileSync(join(folder, 'sandbox/watch.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  return lines.map((line) => line.object).filter((object) => object?.metadata?.uid === uid);
}

const ordered = (value) => {
  if (Array.isArray(value)) return value.map(ordered);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, ordered(value[key])]));
};

test('a watch event opens into the object as it was recorded', async () => {
  await withPage(file, async (page) => {
    for (const name of burst.pods) {
      const index = report.pods.findIndex((pod) => pod.name === name);
      await page.evaluate((hash) => { location.hash = hash; }, `sel=pod-${index}`);
      await panel(page).getByRole('heading', { name }).waitFor();
      await panel(page).getByText(/^Watch events of/).click();
      const items = panel(page).locator('details.raw', { has: page.locator('summary b', { hasText: /^pod / }) });
      const recorded = recordedObjects(report.pods[index].uid);
      assert.ok(recorded.length >= 4);
      await items.nth(recorded.length - 1).waitFor();
      assert.equal(await items.count(), recorded.length);
      for (const [i, object] of recorded.entries()) {
        await items.nth(i).locator('summary').click();
        await items.nth(i).locator('pre').waitFor();
        assert.deepEqual(ordered(JSON.parse(await items.nth(i).locator('pre').innerText())), ordered(object));
      }
    }
  });
});

test('a pod shows its measurements, its moments on three clocks, its log and answered requests near its moments', async () => {
  await withPage(file, async (page) => {
    await page.locator('.lane-label').first().click();
    const pod = report.pods[0];
    const text = await panel(page).innerText();
    for (const part of [pod.name, pod.uid, 'Propagation lag', 'Margin', 'deletion requested', 'deadline', 'Answered requests near its moments']) assert.ok(text.includes(part), part);
    await panel(page).getByText(/^Log of/).click();
    await page.waitForFunction(() => document.querySelector('#panel').innerText.includes('"ev":"sigterm"'));
  });
});

test('a failed request shows every field of its record and leads to its burst', async () => {
  await withPage(file, async (page) => {
    const seq = burst.requests[0];
    await page.evaluate((hash) => { location.hash = hash; }, `sel=request-${seq}`);
    await panel(page).getByRole('heading', { name: `Slot ${seq}` }).waitFor();
    const text = await panel(page).innerText();
    for (const part of ['connect_refused', 'due', 'sent', 'ended', 'errno', '111', 'lane', 'phase', 'UTC', 'here']) assert.ok(text.includes(part), part);
    await panel(page).getByRole('button', { name: /Burst #1/ }).click();
    assert.match(await panel(page).innerText(), /evidence for/i);
  });
});

test('keys alone open a burst, close it again, and come back to where they were', async () => {
  await withPage(file, async (page) => {
    await page.locator('.surface').focus();
    for (let i = 0; i < 60; i += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement.dataset.key === 'burst-1')) break;
    }
    assert.match(await page.locator('.tooltip').innerText(), /#1 early_close/);
    await page.keyboard.press('Enter');
    assert.equal(await panel(page).isVisible(), true);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'panel');
    await page.keyboard.press('Escape');
    assert.equal(await panel(page).isVisible(), false);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.key), 'burst-1');
  });
});
