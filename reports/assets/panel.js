// Details of the selection: what the page says of it, and the records under it.

import { el } from './dom.js';
import { length, local, moment, utc } from './time.js';
import { requestRows } from './lanes.js';

const MOST_ROWS = 500;

/** The panel beside the timeline. */
export class Panel {
  constructor(data, select) {
    this.data = data;
    this.select = select;
    this.box = document.getElementById('panel');
    this.box.addEventListener('keydown', (event) => { if (event.key === 'Escape') this.select(null); });
  }

  /** Shows `burst-1`, `pod-0`, `request-17`, or nothing. */
  show(key, focus) {
    const [kind, id] = (key ?? '').split('-');
    const content = { burst: () => this.burst(Number(id)), pod: () => this.pod(Number(id)), request: () => this.request(Number(id)) }[kind]?.();
    if (!content) {
      this.box.hidden = true;
      document.body.classList.remove('with-panel');
      return;
    }
    const close = el('button', { type: 'button', class: 'close', 'aria-label': 'Close the details', onclick: () => this.select(null) }, '✕');
    this.box.replaceChildren(close, ...content);
    this.box.hidden = false;
    this.box.scrollTop = 0;
    document.body.classList.add('with-panel');
    if (focus) this.box.focus({ preventScroll: true });
  }

  burst(id) {
    const burst = this.data.bursts.find((candidate) => candidate.id === id);
    const section = document.getElementById(`burst-${id}`);
    if (!burst || !section) return null;
    const copy = withoutIds(section.cloneNode(true));
    copy.querySelector('.rows')?.remove();
    return [copy, this.requestTable(burst.requests), ...burst.pods.flatMap((name) => this.podRecords(this.data.pods.find((pod) => pod.name === name)))];
  }

  pod(index) {
    const pod = this.data.pods[index];
    if (!pod) return null;
    return [
      el('h3', {}, pod.name),
      el('p', {}, `${pod.old ? '○ old' : '● new'} template `, el('code', {}, pod.template_hash), ' · uid ', el('code', {}, pod.uid)),
      this.measurements(index),
      this.requestTable(pod.requests),
      ...this.podRecords(pod),
    ];
  }

  /** The pod's row of the page's table, turned into a list. */
  measurements(index) {
    const row = document.getElementById(`pod-${index}`);
    const names = [...document.querySelectorAll('table.pods thead th')].slice(1);
    return el('dl', { class: 'facts' }, names.map((name, i) => {
      const value = withoutIds(row.cells[i + 1].cloneNode(true));
      return el('div', {}, el('dt', {}, name.textContent), el('dd', {}, ...value.childNodes));
    }));
  }

  request(seq) {
    const request = this.data.failed.find((candidate) => candidate.seq === seq);
    if (!request) return null;
    const rows = requestRows(request, this.data).filter(Boolean);
    const pod = this.data.pods[request.podIndex];
    return [
      el('h3', {}, `Slot ${seq}: `, el('code', {}, request.outcome)),
      el('dl', { class: 'facts' }, rows.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))),
        el('div', {}, el('dt', {}, 'here'), el('dd', {}, local(this.data.wall_start_ms, request.scheduled)))),
      request.burst !== null && el('p', {}, this.button(`burst-${request.burst}`, `Burst #${request.burst}: why`)),
      pod && el('p', {}, this.button(`pod-${pod.index}`, `Pod ${pod.name}`)),
      ...(pod ? this.podRecords(pod) : []),
    ].filter(Boolean);
  }

  button(key, words) {
    return el('button', { type: 'button', class: 'link', onclick: () => this.select(key, true) }, words);
  }

  requestTable(requests) {
    if (requests.length === 0) return el('p', { class: 'none' }, 'No failed request on it.');
    const head = ['Slot', 'Due, s', 'After', 'Outcome', 'Phase', 'Lane'];
    const rows = requests.slice(0, MOST_ROWS).map((request) => el('tr', {},
      el('td', { class: 'num' }, this.button(`request-${request.seq}`, request.seq)),
      el('td', { class: 'num' }, (request.scheduled / 1e3).toFixed(3)),
      el('td', { class: 'num' }, length(request.to - request.scheduled)),
      el('td', {}, request.outcome, request.status === null ? '' : ` ${request.status}`),
      el('td', {}, request.phase), el('td', {}, request.lane)));
    const more = requests.length - rows.length;
    return el('details', { open: requests.length <= 12 }, el('summary', {}, `Failed requests (${requests.length})`),
      el('div', { class: 'scroll' }, el('table', {}, el('thead', {}, el('tr', {}, head.map((name) => el('th', { scope: 'col' }, name)))), el('tbody', {}, rows))),
      more > 0 && el('p', { class: 'none' }, `and ${more} more`));
  }

  /** What the API server and the containers said of a pod. */
  podRecords(pod) {
    if (!pod) return [];
    const [watch, logs] = [this.data.watch[pod.index], this.data.logs[pod.index]];
    const at = (ms) => el('time', { title: utc(this.data.wall_start_ms, ms) }, moment(ms));
    return [
      el('details', {}, el('summary', {}, `Watch events of ${pod.name} (${watch.rows.length})`),
        el('ul', { class: 'lines' }, watch.rows.map(([ms, what, text]) => el('li', {}, at(ms), ' ', el('b', {}, what), ' ', text))),
        watch.more > 0 && el('p', { class: 'none' }, `and ${watch.more} more in the recording`)),
      el('details', {}, el('summary', {}, `Log of ${pod.name} (${logs.lines.length})`),
        logs.more > 0 && el('p', { class: 'none' }, `${logs.more} earlier lines are in the recording`),
        logs.lines.length === 0 && el('p', { class: 'none' }, 'No line was recorded.'),
        el('ul', { class: 'lines' }, logs.lines.map(([ms, container, , line]) => el('li', {}, at(ms), ' ', el('b', {}, container), ' ', el('code', {}, line))))),
    ];
  }
}

function withoutIds(element) {
  element.removeAttribute('id');
  for (const inner of element.querySelectorAll('[id]')) inner.removeAttribute('id');
  return element;
}
