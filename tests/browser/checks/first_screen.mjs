// What a reader sees first: verdict, counts, causes in a sentence each, what to change, and the timeline under it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timelines, withPage } from '../reports.mjs';

const VERDICTS = { passed: 'Passed', gate_failed: 'Gate failed', invalid: 'Run invalid' };
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',');
/** A sentence as the page shows it: what stands between backticks is code. */
const shown = (sentence) => sentence.replaceAll('`', '');

function facts(report) {
  const { verdict, requests, bursts } = report;
  const causes = new Map();
  for (const burst of bursts) causes.set(`${burst.cause} ${burst.detail}`, burst);
  return [
    VERDICTS[verdict.outcome], `exit code ${verdict.exit_code}`, `${grouped(requests.failed)}`, `${grouped(requests.sent)}`,
    ...[...causes.values()].flatMap((burst) => [burst.cause, shown(burst.summary)]),
    ...bursts.flatMap((burst) => burst.advice.flatMap((advice) => [shown(advice.text)])),
  ];
}

for (const { name, kind, file, report, cause } of timelines.filter((timeline) => timeline.kind !== 'hostile')) {
  for (const javaScriptEnabled of [true, false]) {
    test(`${name}: the first screen tells verdict, causes and what to change ${javaScriptEnabled ? '' : 'without JavaScript'}`, async () => {
      await withPage(file, async (page) => {
        const text = await page.evaluate(() => `${document.querySelector('header').innerText} ${document.getElementById('causes').innerText}`.replace(/\s+/g, ' '));
        if (cause !== undefined) assert.deepEqual(report.bursts.filter((burst) => burst.cause !== cause).map((burst) => burst.cause), []);
        if (cause) assert.ok(text.includes(cause), `${cause} is not in: ${text}`);
        for (const fact of facts(report)) assert.ok(text.includes(fact.replace(/\s+/g, ' ')), `${fact} is not in: ${text}`);
        const order = await page.evaluate(() => ['#causes', '#timeline', '#bursts', '#pods'].map((id) => document.querySelector(id).getBoundingClientRect().top));
        assert.deepEqual(order, [...order].sort((a, b) => a - b));
      }, { javaScriptEnabled });
    });
  }
  test(`${name}: the timeline has a lane for each pod and a mark for each failed request`, async () => {
    await withPage(file, async (page) => {
      if (kind !== 'many-pods') assert.equal(await page.locator('.lane-label').count(), report.pods.length);
      const total = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).failed.count);
      assert.equal(total, report.requests.failed);
      assert.equal(await page.locator('.burst-mark').count(), report.bursts.length);
    });
  });
}
