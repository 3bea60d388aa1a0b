// How long a page takes to open, and how many frames a second it draws while it is zoomed and moved:
// `node bench.mjs TIMELINE.html [RUNS]`. Prints one line for each run and a summary.

import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { launch } from './chromium.mjs';

const VIEWPORT = { width: 1280, height: 900 };
const GESTURE_MS = 3000;

/** From the start of the navigation until a frame has been shown after the timeline was drawn, ms. */
async function open(page, url) {
  await page.goto(url, { waitUntil: 'commit' });
  return page.evaluate(() => new Promise((done) => {
    const drawn = () => {
      if (performance.getEntriesByName('timeline drawn').length === 0) { setTimeout(drawn, 1); return; }
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
    };
    drawn();
  }));
}

/** Times between frames while `gesture` is made once a frame, ms. */
function frames(page, gesture) {
  return page.evaluate(({ gesture, length }) => new Promise((done) => {
    const surface = document.querySelector('.surface');
    const box = document.querySelector('.canvas').getBoundingClientRect();
    const place = { clientX: box.left + box.width * 0.63, clientY: box.top + 160, bubbles: true, cancelable: true };
    const target = document.querySelector('.canvas');
    const lanes = document.querySelector('.lanes');
    const acts = {
      zoom: (n) => target.dispatchEvent(new WheelEvent('wheel', { ...place, ctrlKey: true, deltaY: Math.floor(n / 40) % 2 === 0 ? -30 : 30 })),
      pan: (n) => surface.dispatchEvent(new KeyboardEvent('keydown', { key: Math.floor(n / 20) % 2 === 0 ? 'ArrowRight' : 'ArrowLeft', bubbles: true })),
      scroll: (n) => { lanes.scrollTop = (n * 60) % Math.max(1, lanes.scrollHeight - lanes.clientHeight); },
    };
    const times = [];
    const start = performance.now();
    let last = start;
    const step = (now) => {
      if (times.length > 0 || now > start) times.push(now - last);
      last = now;
      if (now - start > length) { done(times.slice(2)); return; }
      acts[gesture](times.length);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }), { gesture, length: GESTURE_MS });
}

function rate(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
  return { perSecond: 1000 / mean, slowest5: sorted[Math.floor(sorted.length * 0.95)] };
}

const file = resolve(process.argv[2]);
const runs = Number(process.argv[3] ?? 3);
const results = [];
for (let run = 0; run < runs; run += 1) {
  const browser = await launch();
  try {
    const page = await browser.newPage({ viewport: VIEWPORT });
    const opened = await open(page, pathToFileURL(file).href);
    const result = { opened };
    for (const gesture of ['zoom', 'pan', 'scroll']) {
      result[gesture] = rate(await frames(page, gesture));
      await page.keyboard.press('0');
    }
    const filled = await page.evaluate(() => performance.getEntriesByName('sections filled')[0]?.startTime);
    results.push(result);
    const shown = ['zoom', 'pan', 'scroll'].map((name) => `${name} ${result[name].perSecond.toFixed(0)} frames/s (95 % within ${result[name].slowest5.toFixed(0)} ms)`);
    console.log(`opened in ${opened.toFixed(0)} ms${filled ? `, long sections filled after ${filled.toFixed(0)} ms` : ''}; ${shown.join('; ')}`);
  } finally {
    await browser.close();
  }
}
const worst = (of) => Math.min(...results.map(of));
console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(2)} MB; slowest of ${runs}: opened in ${Math.max(...results.map((r) => r.opened)).toFixed(0)} ms, `
  + `zoom ${worst((r) => r.zoom.perSecond).toFixed(0)}, pan ${worst((r) => r.pan.perSecond).toFixed(0)}, scroll ${worst((r) => r.scroll.perSecond).toFixed(0)} frames/s`);
