// What the marks mean; each outcome that occurs can be switched off.

import { el, svg } from './dom.js';
import { areaFill, shape } from './series.js';

/** The legend of a timeline. */
export function legend(data, filters) {
  const occurs = new Set(data.levels.flatMap((level) => Object.keys(level.counts)));
  const swatch = (...content) => svg('svg', { width: 18, height: 12, class: 'swatch', 'aria-hidden': 'true' }, ...content);
  const outcomes = data.series.filter(([name]) => occurs.has(name)).map(([name, words]) => el('label', {}, filters.outcomeBox(name),
    swatch(svg('rect', { width: 18, height: 12, fill: areaFill(name), class: 'swatch-back' }), name !== 'ok' && shape(name, 9, 6, 3.4)), words));
  const phase = (name, words) => el('span', {}, swatch(svg('g', { class: `phase phase-${name}` }, svg('rect', { width: 18, height: 12 }))), words);
  const line = (height, words) => el('span', {}, swatch(svg('g', { class: `endpoint endpoint-${height}` }, svg('rect', { y: 4, width: 18, height }))), words);
  const podKeys = [
    phase('pending', 'pending'), phase('starting', 'starting'), phase('not_ready', 'not ready'), phase('ready', 'ready'), phase('terminating', 'terminating'),
    line(6, 'endpoint ready'), line(4, 'serving only'), line(2, 'neither'),
    el('span', {}, swatch(svg('path', { class: 'log-mark', d: 'M9,2L13,10H5Z' })), 'log line'),
  ];
  return el('div', { class: 'legend' }, el('div', { role: 'group', 'aria-label': 'Outcomes shown' }, outcomes),
    data.levels.length > 0 && el('div', {}, el('span', {}, swatch(svg('path', { class: 'latency latency-p50', d: 'M0,6H18' })), 'latency p50'),
      el('span', {}, swatch(svg('path', { class: 'latency latency-p99', d: 'M0,6H18' })), 'p99, from the due time')),
    data.pods.length > 0 && el('div', {}, podKeys));
}
