// The index of a folder of runs, and the comparison of two.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timelines, withPage } from '../reports.mjs';

test('the index has a row for each run, each leading to its timeline, and three trends for each scenario', async () => {
  await withPage('index.html', async (page) => {
    assert.equal(await page.locator('tbody tr').count(), timelines.length);
    const scenarios = new Set(timelines.map(({ report }) => report.run.name)).size;
    assert.equal(await page.locator('figure.trend').count(), 3 * scenarios);
    const links = await page.locator('tbody a').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    assert.deepEqual(links.sort(), timelines.map(({ file }) => `./${file}`).sort());
  });
});

test('the comparison tells what differs', async () => {
  await withPage('comparison.html', async (page) => {
    const text = await page.locator('main').innerText();
    for (const part of ['Propagation lag', 'Margin to the deadline', 'Latency p99', 'worse', 'Before', 'After']) assert.ok(text.includes(part), part);
  });
});
