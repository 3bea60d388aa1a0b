// axe-core without a violation, light and dark; landmarks; a table for every chart; colours for the colour-blind.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { filled, named, others, timelines, withPage } from '../reports.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Violations of the page as it stands, one line each. */
async function violations(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary.replace(/\s+/g, ' ')}`));
}

for (const dark of [false, true]) {
  const scheme = dark ? 'dark' : 'light';
  for (const { name, kind, file, report } of timelines) {
    test(`${name}: axe finds nothing, ${scheme}`, async () => {
      await withPage(file, async (page) => {
        await filled(page);
        assert.deepEqual(await violations(page), []);
        if (kind !== 'real' && report.bursts.length > 0) {
          await page.locator('.burst-mark').first().dispatchEvent('click');
          assert.deepEqual(await violations(page), [], 'with the panel');
        }
      }, { dark });
    });
  }
  test(`the other pages: axe finds nothing, ${scheme}`, async () => {
    for (const file of others) await withPage(file, async (page) => assert.deepEqual(await violations(page), [], file), { dark });
  });
}

test('landmarks and headings lead through the page', async () => {
  await withPage(named('sandbox').file, async (page) => {
    for (const [role, name] of [['main'], ['banner'], ['contentinfo'], ['region', 'Timeline'], ['region', 'Pods'], ['region', 'Bursts of failed requests']]) {
      assert.equal(await page.getByRole(role, { name, exact: true }).count(), 1, `${role} ${name}`);
    }
    const levels = await page.evaluate(() => [...document.querySelectorAll('h1, h2, h3, h4')].map((heading) => Number(heading.tagName[1])));
    levels.forEach((level, i) => assert.ok(level <= (levels[i - 1] ?? 0) + 1, `heading ${i} jumps to ${level}`));
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the timeline');
  });
});

test('every chart has its numbers in a table', async () => {
  await withPage(named('sandbox').file, async (page) => {
    for (const section of ['pods', 'stages', 'bursts', 'over-time']) {
      assert.ok(await page.locator(`#${section} table`).count() > 0, section);
      assert.equal(await page.locator(`.tables a[href="#${section}"]`).count(), 1, section);
    }
    const rows = await page.locator('#over-time tbody tr').count();
    assert.ok(rows >= 5, `${rows} rows`);
  });
});

/** How a colour looks with full protanopia, deuteranopia and tritanopia (Machado, Oliveira and Fernandes 2009), linear RGB. */
const SIGHTS = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

function lab(hex, sight) {
  const channels = [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  const [r, g, b] = SIGHTS[sight].map((row) => Math.min(1, Math.max(0, row.reduce((sum, factor, i) => sum + factor * channels[i], 0))));
  const f = (t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883].map(f);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test('outcomes differ in shape and pattern, and their colours also to the colour-blind', async () => {
  for (const dark of [false, true]) {
    await withPage(named('sandbox').file, async (page) => {
      const { colours, patterns } = await page.evaluate(() => {
        const names = ['connect', 'cut', 'truncated', 'status', 'other'];
        const style = getComputedStyle(document.documentElement);
        return { colours: Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--series-${name}`).trim()])),
          patterns: names.map((name) => document.querySelector(`#pattern-${name} path`)?.getAttribute('d') ?? 'plain') };
      });
      assert.equal(new Set(patterns).size, patterns.length, 'each its own pattern');
      const names = Object.keys(colours);
      for (const sight of Object.keys(SIGHTS)) {
        for (const [i, a] of names.entries()) {
          for (const b of names.slice(i + 1)) {
            const distance = Math.hypot(...lab(colours[a], sight).map((value, k) => value - lab(colours[b], sight)[k]));
            assert.ok(distance > 11, `${a} ${colours[a]} and ${b} ${colours[b]} are ${distance.toFixed(0)} apart with ${sight} sight, ${dark ? 'dark' : 'light'}`);
          }
        }
      }
    }, { dark });
  }
});
