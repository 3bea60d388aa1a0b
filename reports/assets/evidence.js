// The raw records that a piece of evidence rests on: those of its pod at its time.

import { el } from './dom.js';
import { length, moment } from './time.js';
import { wholeRequest } from './data.js';
import { AROUND_MS, close, logLines, telling, underWay, watchEvents } from './records.js';
import { logItem, watchItem } from './lists.js';

const MOST_OF_A_KIND = 12;

/** A list that opens below a piece of evidence. `failed` are the requests that the evidence is about. */
export function recordsOfEvidence(data, item, failed, select) {
  const at = item.dataset.at?.split('_').map(Number);
  const pod = data.pods.find((candidate) => candidate.name === item.dataset.pod);
  const ofPod = (requests) => requests.filter((request) => !pod || request.podIndex === null || request.podIndex === pod.index);
  const watch = pod && at ? telling(watchEvents(data, pod), at) : [];
  const logs = pod && at ? close(logLines(data, pod), at) : [];
  const ofIt = ofPod(failed);
  const atIt = at ? underWay(ofIt, at) : ofIt;
  const requests = atIt.length > 0 ? atIt : nearest(ofIt, at);
  const answered = at ? underWay(data.near, at).filter((request) => !pod || request.podIndex === pod.index) : [];
  const counts = [[watch, 'watch event'], [logs, 'log line'], [requests, 'failed request'], [answered, 'answered request']]
    .filter(([records]) => records.length > 0).map(([records, words]) => `${records.length} ${words}${records.length === 1 ? '' : 's'}`);
  if (counts.length === 0) return el('p', { class: 'none records' }, 'Records: none of them is in this page; see the recording.');
  const details = el('details', { class: 'records' }, el('summary', {}, `Records: ${counts.join(', ')}`));
  details.addEventListener('toggle', () => {
    if (details.childElementCount > 1) return;
    details.append(
      at ? el('p', { class: 'none' }, `${pod ? `Of ${pod.name}, ` : ''}from ${moment(at[0])} to ${moment(at[1])} and ${AROUND_MS} ms around it; of its own states also the last before and the next after, and the nearest failed request.`) : '',
      ...list(watch, (event) => watchItem(data, pod, event)), ...list(logs, (line) => logItem(data, line)),
      ...list(requests, (request) => requestItem(request, select)), ...list(answered, (request) => requestItem(request, select)));
  });
  return details;
}

/** The failed request that began next to a time at which none was under way. */
function nearest(requests, [from, to]) {
  const away = (request) => Math.max(from - request.to, request.scheduled - to, 0);
  return requests.toSorted((one, other) => away(one) - away(other)).slice(0, 1);
}

function list(records, item) {
  if (records.length === 0) return [];
  const more = records.length - MOST_OF_A_KIND;
  return [el('ul', { class: 'lines' }, records.slice(0, MOST_OF_A_KIND).map(item), more > 0 && el('li', { class: 'none' }, `and ${more} more`))];
}

function requestItem(mark, select) {
  const request = wholeRequest(mark);
  const key = `request-${request.seq}`;
  return el('li', {}, moment(request.scheduled), ' ', el('button', { type: 'button', class: 'link', onclick: () => select(key) }, `slot ${request.seq}`),
    ' ', el('code', {}, request.outcome), ` after ${length(request.to - request.scheduled)}, ${request.lane}${request.reused ? ', reused' : ''}`,
    request.connection === null ? '' : `, connection #${request.connection}`);
}
