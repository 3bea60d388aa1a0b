// Outcomes as stacked areas and latency as lines, over time.

import { svg } from './dom.js';
import { length, moment, roundStep, utc, count } from './time.js';
import { binsBetween, suitingLevel } from './data.js';
import { areaFill } from './series.js';
import { tip } from './tooltip.js';

function binIndex(level, ms) {
  const index = Math.floor((ms - level.from_ms) / level.width_ms);
  return index >= 0 && index < level.bins ? index : null;
}

function binTitle(level, index) {
  const from = level.from_ms + index * level.width_ms;
  return `${moment(from)} – ${moment(from + level.width_ms)}`;
}

/** A rectangle over a chart that answers the pointer with the values of the bin under it. */
function sensor(view, box, level, data, rows) {
  const area = svg('rect', { class: 'sensor', x: view.left, y: box.y, width: view.right - view.left, height: box.height });
  return tip(area, (ms) => {
    const index = ms === null ? null : binIndex(level, ms);
    if (index === null) return null;
    return [binTitle(level, index), ...rows(index), ['UTC', utc(data.wall_start_ms, level.from_ms + index * level.width_ms)]];
  });
}

/** Requests per second by the time at which they were due, failures at the bottom so that few of them are seen. */
export function outcomesChart(view, box, data, hidden) {
  const level = suitingLevel(data.levels, view.msPerPixel);
  if (!level) return svg('g');
  const shown = data.series.map(([name]) => name).filter((name) => level.counts[name] && !hidden.has(name));
  const bins = binsBetween(level, view.from, view.to);
  const perSecond = 1e3 / level.width_ms;
  const most = Math.max(1, ...bins.map((i) => shown.reduce((sum, name) => sum + level.counts[name][i], 0))) * perSecond;
  const y = (rate) => box.y + box.height - (rate / (most * 1.05)) * box.height;
  const base = new Map(bins.map((i) => [i, 0]));
  const areas = shown.map((name) => {
    const under = [];
    let path = '';
    for (const i of bins) {
      const low = base.get(i);
      const high = low + level.counts[name][i] * perSecond;
      base.set(i, high);
      const [x0, x1] = binEdges(view, level, i);
      path += `${path ? 'L' : 'M'}${x0},${y(high)}L${x1},${y(high)}`;
      under.push(`L${x1},${y(low)}L${x0},${y(low)}`);
    }
    return path && svg('path', { d: `${path}${under.reverse().join('')}Z`, fill: areaFill(name), class: `area area-${name}` });
  });
  const rows = (i) => shown.filter((name) => name === 'ok' || level.counts[name][i] > 0)
    .map((name) => [data.series.find(([id]) => id === name)[1], `${count(level.counts[name][i])} (${(level.counts[name][i] * perSecond).toFixed(0)}/s)`]);
  const labels = [[most, `${most.toFixed(most < 10 ? 1 : 0)}/s`], [0, '0']];
  return svg('g', {}, yLines(view, labels, y), areas, yLabels(view, box, labels, y), sensor(view, box, level, data, rows));
}

function binEdges(view, level, i) {
  const from = level.from_ms + i * level.width_ms;
  return [view.clipped(from).toFixed(1), view.clipped(from + level.width_ms).toFixed(1)];
}

/** Median and 99th percentile of the latency from the due time, on a logarithmic scale. */
export function latencyChart(view, box, data) {
  const level = suitingLevel(data.levels, view.msPerPixel, 6);
  if (!level) return svg('g');
  const bins = binsBetween(level, view.from, view.to);
  const values = bins.flatMap((i) => [level.p50[i], level.p99[i]]).filter((value) => value !== null && value > 0);
  if (values.length === 0) return svg('g');
  const low = Math.log10(Math.min(...values)) - 0.1;
  const high = Math.max(Math.log10(Math.max(...values)) + 0.1, low + 0.5);
  const y = (ms) => box.y + box.height - ((Math.log10(Math.max(ms, 1e-3)) - low) / (high - low)) * box.height;
  const decades = [];
  for (let power = Math.ceil(low); power <= high; power += 1) decades.push([10 ** power, length(10 ** power).replace('.00', '').replace('.0 ', ' ')]);
  const labels = decades.length > 0 ? decades : [[roundStep(values[0]), length(roundStep(values[0]))]];
  const rows = (i) => [
    ['p50', level.p50[i] === null ? 'none answered' : length(level.p50[i])],
    ['p99', level.p99[i] === null ? 'none answered' : length(level.p99[i])],
    ['answered', count(level.answered[i])],
  ];
  return svg('g', {}, yLines(view, labels, y), latencyLine(view, level, bins, 'p50', y), latencyLine(view, level, bins, 'p99', y),
    yLabels(view, box, labels, y), sensor(view, box, level, data, rows));
}

function latencyLine(view, level, bins, name, y) {
  let path = '';
  let open = false;
  for (const i of bins) {
    const value = level[name][i];
    if (value === null) { open = false; continue; }
    const [x0, x1] = binEdges(view, level, i);
    path += `${open ? 'L' : 'M'}${x0},${y(value).toFixed(1)}L${x1},${y(value).toFixed(1)}`;
    open = true;
  }
  return svg('path', { d: path || 'M0,0', class: `latency latency-${name}` });
}

function yLines(view, labels, y) {
  return svg('g', { class: 'y-axis' }, labels.map(([value]) => svg('line', { x1: view.left, x2: view.right, y1: y(value), y2: y(value) })));
}

/** Labels left of the drawing where there is room, else inside it. */
function yLabels(view, box, labels, y) {
  const outside = view.left > 60;
  return svg('g', {}, labels.map(([value, label]) => svg('text', {
    class: 'y-label', x: outside ? view.left - 5 : view.left + 3, 'text-anchor': outside ? 'end' : 'start',
    y: Math.min(box.y + box.height, Math.max(y(value) + (outside ? 3.5 : -2), box.y + 8)),
  }, label)));
}
