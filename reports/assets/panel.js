// Details of the selection: what the page says of it, and the records under it.

import { el } from './dom.js';
import { interval, length, local, moment, utc } from './time.js';
import { requestRows } from './lanes.js';
import { wholeRequest } from './data.js';
import { recordsOfEvidence } from './evidence.js';
import { logList, watchList } from './lists.js';

const MOST_ROWS = 500;

/** The panel beside the timeline. */
export class Panel {
  constructor(data, select, later) {
    Object.assign(this, { data, select, later });
    this.box = document.getElementById('panel');
    this.box.addEventListener('keydown', (event) => { if (event.key === 'Escape') this.select(null); });
  }

  /** Shows `burst-1`, `pod-0`, `request-17`, or nothing; whether there is such a thing. */
  show(key, focus) {
    const [kind, id] = (key ?? '').split('-');
    const known = new Map([['burst', () => this.burst(Number(id))], ['pod', () => this.pod(Number(id))], ['request', () => this.request(Number(id))]]);
    const content = known.get(kind)?.();
    document.body.classList.toggle('with-panel', Boolean(content));
    this.box.hidden = !content;
    if (!content) return false;
    const close = el('button', { type: 'button', class: 'close', 'aria-label': 'Close the details', onclick: () => this.select(null) }, '✕');
    this.box.replaceChildren(close, ...content);
    this.box.scrollTop = 0;
    if (focus) this.box.focus({ preventScroll: true });
    return true;
  }

  burst(id) {
    const burst = this.data.bursts.find((candidate) => candidate.id === id);
    const section = burst && this.later.find(`burst-${id}`);
    if (!section) return null;
    const copy = withoutIds(section.cloneNode(true));
    copy.querySelector('.rows')?.remove();
    for (const item of copy.querySelectorAll('li[data-evidence]')) item.append(recordsOfEvidence(this.data, item, burst.requests, this.select));
    const pods = burst.pods.map((name) => this.data.pods.find((pod) => pod.name === name)).filter(Boolean);
    return [copy, this.clocks([['from', [burst.from_ms, burst.from_ms]], ['to', [burst.to_ms, burst.to_ms]]]),
      this.requestTable('Failed requests', burst.requests), ...pods.flatMap((pod) => this.podRecords(pod))];
  }

  pod(index) {
    const pod = this.data.pods[index];
    if (!pod) return null;
    const near = this.data.near.filter((request) => request.podIndex === index || wholeRequest(request).pod === pod.name);
    return [
      el('h3', {}, pod.name),
      el('p', {}, `${pod.old ? '○ old' : '● new'} template `, el('code', {}, pod.template_hash), ' · uid ', el('code', {}, pod.uid)),
      this.clocks([['deletion requested', pod.deletion_requested_ms], ['signal', pod.signal_ms], ['end', pod.exit?.at_ms], ['deadline', pod.deadline_ms]]),
      this.measurements(index),
      this.requestTable('Failed requests', pod.requests),
      near.length > 0 && this.requestTable('Answered requests near its moments', near),
      ...this.podRecords(pod),
    ].filter(Boolean);
  }

  /** Moments on three clocks. */
  clocks(moments) {
    const rows = moments.filter(([, at]) => at).map(([name, [lo, hi]]) => el('tr', {}, el('th', { scope: 'row' }, name),
      el('td', { class: 'num' }, interval([lo, hi])), el('td', { class: 'num' }, local(this.data.wall_start_ms, lo)), el('td', { class: 'num' }, utc(this.data.wall_start_ms, lo))));
    return rows.length > 0 && el('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Moments on three clocks' }, el('table', { class: 'clocks' },
      el('thead', {}, el('tr', {}, ['', 'Run', 'Local, from', 'UTC, from'].map((name) => (name ? el('th', { scope: 'col' }, name) : el('td', {}))))), el('tbody', {}, rows)));
  }

  /** The pod's row of the page's table, turned into a list. */
  measurements(index) {
    const row = this.later.find(`pod-${index}`);
    const names = [...document.querySelectorAll('table.pods thead th')].slice(1);
    return el('dl', { class: 'facts' }, names.map((name, i) => {
      const value = withoutIds(row.cells[i + 1].cloneNode(true));
      return el('div', {}, el('dt', {}, name.textContent), el('dd', {}, ...value.childNodes));
    }));
  }

  request(seq) {
    const mark = this.data.failed.find((candidate) => candidate.seq === seq) ?? this.data.near.find((candidate) => candidate.seq === seq);
    if (!mark) return null;
    const request = wholeRequest(mark);
    const rows = requestRows(mark, this.data).filter(Boolean);
    const pod = this.data.pods[request.podIndex];
    return [
      el('h3', {}, `Slot ${seq}: `, el('code', {}, request.outcome)),
      el('dl', { class: 'facts' }, rows.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value)))),
      request.burst !== null && el('p', {}, this.button(`burst-${request.burst}`, `Burst #${request.burst}: why`)),
      pod && el('p', {}, this.button(`pod-${pod.index}`, `Pod ${pod.name}`)),
      ...(pod ? this.podRecords(pod) : []),
    ].filter(Boolean);
  }

  button(key, words) {
    return el('button', { type: 'button', class: 'link', onclick: () => this.select(key, true) }, words);
  }

  requestTable(title, marks) {
    if (marks.length === 0) return el('p', { class: 'none' }, `${title}: none on it.`);
    const head = ['Slot', 'Due, s', 'After', 'Outcome', 'Phase', 'Lane'];
    const rows = () => marks.slice(0, MOST_ROWS).map((mark) => {
      const request = wholeRequest(mark);
      return el('tr', {},
        el('td', { class: 'num' }, this.button(`request-${request.seq}`, request.seq)),
        el('td', { class: 'num' }, (request.scheduled / 1e3).toFixed(3)),
        el('td', { class: 'num' }, length(request.to - request.scheduled)),
        el('td', {}, request.outcome, request.status === null ? '' : ` ${request.status}`),
        el('td', {}, request.phase), el('td', {}, request.lane, request.reused ? ', reused' : ''));
    });
    const more = marks.length - MOST_ROWS;
    return filledWhenOpened(`${title} (${marks.length})`, marks.length <= 12, () => [
      el('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': title }, el('table', {}, el('thead', {}, el('tr', {}, head.map((name) => el('th', { scope: 'col' }, name)))), el('tbody', {}, rows()))),
      more > 0 && el('p', { class: 'none' }, `and ${more} more`)]);
  }

  /** What the API server and the containers said of a pod. */
  podRecords(pod) {
    const [watch, logs] = [this.data.watch.pods[pod.index], this.data.logs[pod.index]];
    return [
      filledWhenOpened(`Watch events of ${pod.name} (${watch.rows.length})`, false, () => watchList(this.data, pod)),
      filledWhenOpened(`Log of ${pod.name} (${logs.lines.length})`, false, () => logList(this.data, pod)),
    ];
  }
}

/** Details whose content is made when they are opened for the first time. */
export function filledWhenOpened(title, open, content) {
  const details = el('details', {}, el('summary', {}, title));
  const fillOnce = () => { if (details.childElementCount === 1) details.append(...[content()].flat(Infinity).filter(Boolean)); };
  if (open) fillOnce();
  details.open = open;
  details.addEventListener('toggle', () => { if (details.open) fillOnce(); });
  return details;
}

function withoutIds(element) {
  element.removeAttribute('id');
  for (const inner of element.querySelectorAll('[id]')) inner.removeAttribute('id');
  return element;
}
