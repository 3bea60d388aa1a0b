// Pictures of the pages for the eye, on a phone, a laptop and a wide screen, light and dark; and on paper.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { artifacts, named, others, timelines, withPage } from '../reports.mjs';

const WIDTHS = [360, 1280, 2560];
const SHOWN = ['sandbox', 'e-overrun', 'clean', 'many-pods', 'hostile'].filter((name) => named(name));
const picture = (name) => join(artifacts, `${name}.png`);

for (const width of WIDTHS) {
  for (const dark of [false, true]) {
    const suffix = `${width}-${dark ? 'dark' : 'light'}`;
    test(`pictures at ${width} px, ${dark ? 'dark' : 'light'}`, async () => {
      for (const name of SHOWN) {
        await withPage(named(name).file, async (page) => {
          await page.screenshot({ path: picture(`${name}-${suffix}`), fullPage: name !== 'hostile' && name !== 'many-pods' });
        }, { width, dark });
      }
      await withPage(named('sandbox').file, async (page) => page.screenshot({ path: picture(`sandbox-panel-${suffix}`) }), { width, dark, hash: '#sel=burst-1' });
      for (const file of others) {
        await withPage(file, async (page) => page.screenshot({ path: picture(`${file.replace('.html', '')}-${suffix}`), fullPage: width !== 360 }), { width, dark });
      }
    });
  }
}

test('at 360 px nothing is wider than the screen', async () => {
  for (const file of [...timelines.map((timeline) => timeline.file), ...others]) {
    await withPage(file, async (page) => {
      const [wide, view] = await page.evaluate(() => [document.scrollingElement.scrollWidth, innerWidth]);
      assert.ok(wide <= view, `${file}: ${wide} px in ${view} px`);
    }, { width: 360, height: 740 });
  }
});

test('on paper controls are gone, details are open and every lane is drawn', async () => {
  for (const name of ['sandbox', 'many-pods']) {
    const { file, report } = named(name);
    await withPage(file, async (page) => {
      await page.pdf({ path: join(artifacts, `${name}.pdf`), format: 'A4', printBackground: true });
      await page.emulateMedia({ media: 'print' });
      await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
      assert.equal(await page.locator('.controls').isVisible(), false);
      assert.equal(await page.locator('main details:not([open])').count(), 0);
      assert.equal(await page.locator('.lane-label').count(), Math.min(report.pods.length, 120));
      await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
      assert.equal(await page.locator('#over-time details[open]').count(), 0);
    });
  }
});
