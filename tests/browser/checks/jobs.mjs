// The lane of the jobs below the pods: a line a job of which there is something to tell, a mark for each thing that
// happened to it, and the same in words.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { named, timelines, withPage } from '../reports.mjs';

const withJobs = timelines.filter(({ kind }) => kind === 'jobs');
const lane = (page) => page.locator('.lane-jobs');
const words = (text) => text.replaceAll('_', ' ');

test('there are runs with jobs, and some that lost or repeated them', () => {
  const told = withJobs.flatMap(({ report }) => report.jobs.told);
  for (const state of ['lost', 'done_twice', 'done']) assert.ok(told.some((job) => job.state === state), state);
});

for (const { name, file, report } of withJobs) {
  const { jobs } = report;
  for (const width of [1280, 420]) {
    test(`${name}: the lane has each job and what happened to it, ${width} pixels wide`, async () => {
      await withPage(file, async (page) => {
        await lane(page).scrollIntoViewIfNeeded();
        const note = await lane(page).locator('.lane-note').textContent();
        assert.equal(note, `${jobs.accepted} accepted, ${jobs.lost} lost, ${jobs.done_twice} twice`);
        assert.equal(await lane(page).locator('.job').count(), jobs.told.length);
        for (const [i, job] of jobs.told.entries()) {
          const drawn = lane(page).locator('.job').nth(i);
          assert.match(await drawn.getAttribute('class'), new RegExp(`\\bjob-${job.state}$`));
          const marks = await drawn.locator('circle').evaluateAll((all) => all.map((mark) => [mark.getAttribute('class'), Number(mark.getAttribute('cx'))]));
          assert.deepEqual(marks.map(([kind]) => kind), job.events.map(({ event }) => `job-${event}`));
          const places = marks.map(([, x]) => x);
          assert.deepEqual(places, [...places].sort((a, b) => a - b));
        }
      }, { width });
    });
  }

  test(`${name}: a job says under the pointer what happened to it, when and by whom`, async () => {
    await withPage(file, async (page) => {
      for (const [i, job] of jobs.told.entries()) {
        await lane(page).locator('.job .hit').nth(i).hover();
        const tip = await page.locator('.tooltip').innerText();
        for (const part of [job.job, words(job.state), ...job.events.flatMap(({ event, by }) => [words(event), by ?? ''])]) {
          assert.ok(tip.includes(part), `${part} in ${tip}`);
        }
      }
    });
  });

  test(`${name}: the table beside the timeline has the same jobs`, async () => {
    await withPage(file, async (page) => {
      const rows = page.locator('#jobs table').last().locator('tbody tr');
      assert.equal(await rows.count(), jobs.told.length);
      for (const [i, job] of jobs.told.entries()) assert.ok((await rows.nth(i).innerText()).includes(job.job), job.job);
    });
  });
}

test('a run without jobs has no lane of them', async () => {
  await withPage(named('clean').file, async (page) => {
    assert.equal(await lane(page).count(), 0);
  });
});
