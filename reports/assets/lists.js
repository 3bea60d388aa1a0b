// Watch events and log lines as lists; a watch event opens into its object.

import { el } from './dom.js';
import { local, moment, utc } from './time.js';
import { logLines, watchEvents, watchObject } from './records.js';

const when = (data, ms) => el('time', { title: `${local(data.wall_start_ms, ms)} · ${utc(data.wall_start_ms, ms)}` }, moment(ms));

/** One watch event; its object, as recorded, is put together when it is opened. */
export function watchItem(data, pod, event) {
  const line = [when(data, event.at), ' ', el('b', {}, event.what), ' ', event.text || el('span', { class: 'none' }, 'nothing that this line shows has changed')];
  if (!event.raw) return el('li', {}, line);
  const details = el('details', { class: 'raw' }, el('summary', {}, line));
  details.addEventListener('toggle', () => {
    if (details.childElementCount > 1) return;
    const text = JSON.stringify(watchObject(data, pod, event), null, 1);
    details.append(el('pre', { tabindex: '0', role: 'group', 'aria-label': 'The object as recorded' }, el('code', {}, text)));
  });
  return el('li', {}, details);
}

/** A pod's watch events and what was left out of them. */
export function watchList(data, pod) {
  const { more, bare } = data.watch.pods[pod.index];
  return [
    el('ul', { class: 'lines' }, watchEvents(data, pod).map((event) => watchItem(data, pod, event))),
    bare > 0 && el('p', { class: 'none' }, `${bare} of these events are here without their object, to keep the file small: those farthest from its end and its bursts. The recording has them (watch.jsonl).`),
    more > 0 && el('p', { class: 'none' }, `${more} more events are in the recording.`),
  ];
}

/** One log line. */
export function logItem(data, line) {
  return el('li', {}, when(data, line.at), ' ', el('b', {}, line.container), ' ', el('code', {}, line.line),
    line.timestamp && el('small', {}, ` · its own time ${line.timestamp}`));
}

/** A pod's log lines and how many were left out. */
export function logList(data, pod) {
  const { more, lines } = data.logs[pod.index];
  return [
    more > 0 && el('p', { class: 'none' }, `${more} lines that are farther from its end and its bursts are in the recording (logs.jsonl).`),
    lines.length === 0 && more === 0 && el('p', { class: 'none' }, 'No line was recorded.'),
    el('ul', { class: 'lines' }, logLines(data, pod).map((line) => logItem(data, line))),
  ];
}
