// Zoom and movement by wheel, keys, drag, minimap and buttons.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { named, settled, shownSpan, withPage } from '../reports.mjs';

const { file } = named('sandbox');
const length = ([from, to]) => to - from;

async function place(page, selector, share) {
  await page.locator(selector).scrollIntoViewIfNeeded();
  const box = await page.locator(selector).boundingBox();
  return [box.x + box.width * share, box.y + Math.min(box.height / 2, 120)];
}

/** The moment under a pointer's x, as the read-out has it, s. */
async function momentUnder(page, x, y) {
  await page.mouse.move(x - 1, y);
  await page.mouse.move(x, y);
  return Number.parseFloat(await page.locator('.readout').innerText());
}

test('the wheel scrolls the page until the timeline was clicked, then zooms around the pointer', async () => {
  await withPage(file, async (page) => {
    const [x, y] = await place(page, '.surface', 0.6);
    await page.mouse.move(x, y);
    await page.mouse.wheel(0, 100);
    assert.equal(await shownSpan(page), null, 'not clicked, not zoomed');
    const [x2, y2] = await place(page, '.surface', 0.6);
    await page.locator('.surface').focus();
    const before = await momentUnder(page, x2, y2);
    for (let i = 0; i < 5; i += 1) await page.mouse.wheel(0, -100);
    const span = await shownSpan(page);
    assert.ok(length(span) < 2500, `${span}`);
    const after = await momentUnder(page, x2, y2);
    assert.ok(Math.abs(after - before) < 0.05, `${before} s was under the pointer, then ${after} s`);
    for (let i = 0; i < 12; i += 1) await page.mouse.wheel(0, 100);
    assert.equal(await shownSpan(page), null, 'zoomed out to the whole run');
  });
});

test('Ctrl and the wheel zoom at once', async () => {
  await withPage(file, async (page) => {
    const [x, y] = await place(page, '.surface', 0.6);
    await page.mouse.move(x, y);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -200);
    await page.keyboard.up('Control');
    assert.ok(await shownSpan(page));
  });
});

test('keys zoom, move, go to the ends and show the whole run', async () => {
  await withPage(file, async (page) => {
    await page.locator('.surface').focus();
    await page.keyboard.press('+');
    await page.keyboard.press('+');
    const zoomed = await shownSpan(page);
    await page.keyboard.press('ArrowRight');
    const moved = await shownSpan(page);
    assert.ok(Math.abs(moved[0] - zoomed[0] - length(zoomed) / 10) < 5, `${zoomed} then ${moved}`);
    await page.keyboard.press('Home');
    assert.ok((await shownSpan(page))[0] < 50);
    await page.keyboard.press('End');
    assert.ok((await shownSpan(page))[1] > 9000);
    await page.keyboard.press('-');
    assert.ok(length(await shownSpan(page)) > 1.9 * length(zoomed));
    await page.keyboard.press('0');
    assert.equal(await shownSpan(page), null);
  });
});

test('a drag zooms to what it spans, in the lanes and in the minimap', async () => {
  await withPage(file, async (page) => {
    for (const selector of ['.surface', '.minimap']) {
      const [x, y] = await place(page, selector, 0.5);
      const from = await momentUnder(page, x, y);
      const to = await momentUnder(page, x + 200, y);
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move(x + 100, y, { steps: 3 });
      await page.mouse.move(x + 200, y, { steps: 3 });
      await page.mouse.up();
      const span = await shownSpan(page);
      assert.ok(Math.abs(span[0] - from * 1e3) < 40 && Math.abs(span[1] - to * 1e3) < 40, `${selector}: ${from}-${to} s became ${span} ms`);
      await page.getByRole('button', { name: 'Whole run' }).click();
      assert.equal(await shownSpan(page), null);
    }
  });
});

test('a finer level of bins is drawn when there is room for it', async () => {
  await withPage(file, async (page) => {
    const path = () => page.locator('.area-ok').getAttribute('d');
    const before = (await path()).split('L').length;
    await page.locator('.surface').focus();
    for (let i = 0; i < 3; i += 1) await page.keyboard.press('+');
    await settled(page);
    const bins = (await path()).split('L').length;
    assert.ok(before > 20 && bins > 5, `${before}, ${bins}`);
  });
});

test('hovering a lane says exact values on three clocks', async () => {
  await withPage(file, async (page) => {
    await page.locator('.end-exit .hit').first().hover();
    const tip = await page.locator('.tooltip').innerText();
    for (const part of [/exit 0/, /between\s+\d+\.\d{3}–\d+\.\d{3} s/, /known to\s+±/, /UTC/, /local/]) assert.match(tip, part);
  });
});
