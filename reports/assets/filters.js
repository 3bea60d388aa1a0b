// What is shown: which pods, which failed requests, on which clock. Part of the address.

import { el } from './dom.js';
import { CLOCKS } from './time.js';

const POD_FILTERS = [
  ['all', 'all pods', () => true],
  ['failed', 'pods with failures', (pod) => pod.failed > 0 || pod.requests.length > 0],
  ['ended', 'pods that ended', (pod) => pod.exit !== null || pod.deletion_requested_ms !== null],
  ['old', 'old template', (pod) => pod.old],
  ['new', 'new template', (pod) => !pod.old],
];
const LANES = [['all', 'every connection'], ['new', 'new connections'], ['reused', 'reused connections']];

/** The choices; `changed` is called after each. */
export class Filters {
  constructor() {
    Object.assign(this, { pods: 'all', find: '', lane: 'all', clock: 'run', hidden: new Set(), boxes: new Map(), fields: new Map() });
    this.changed = () => {};
  }

  /** Whether a failed request is drawn. */
  shows(request) {
    return !this.hidden.has(request.series) && (this.lane === 'all' || request.lane === this.lane);
  }

  /** The pods that have a lane. */
  podsOf(data) {
    const suits = (POD_FILTERS.find(([name]) => name === this.pods) ?? POD_FILTERS[0])[2];
    const wanted = this.find.trim().toLowerCase();
    return data.pods.filter((pod) => suits(pod) && (wanted === '' || pod.name.toLowerCase().includes(wanted)));
  }

  /** The choices that are not the usual ones, as parts of an address. */
  parts() {
    const usual = { pods: 'all', find: '', lane: 'all', clock: 'run' };
    const parts = Object.keys(usual).filter((name) => this[name] !== usual[name]).map((name) => [name, this[name]]);
    if (this.hidden.size > 0) parts.push(['hide', [...this.hidden].sort().join(',')]);
    return parts;
  }

  text() { return JSON.stringify(this.parts()); }

  /** Takes the choices from an address; what it does not name becomes usual again. */
  recall(wanted, series) {
    const of = (list, name) => (list.some(([value]) => value === wanted.get(name)) ? wanted.get(name) : list[0][0]);
    Object.assign(this, { pods: of(POD_FILTERS, 'pods'), lane: of(LANES, 'lane'), clock: of(CLOCKS, 'clock'), find: wanted.get('find') ?? '' });
    const hidden = (wanted.get('hide') ?? '').split(',');
    this.hidden = new Set(series.map(([name]) => name).filter((name) => hidden.includes(name)));
    for (const [name, field] of this.fields) field.value = this[name];
    for (const [name, box] of this.boxes) box.checked = !this.hidden.has(name);
  }

  set(name, value) {
    this[name] = value;
    this.changed();
  }

  /** The fields of the controls. */
  controls(data) {
    const choice = (name, label, options) => {
      const field = el('select', { 'aria-label': label, onchange: () => this.set(name, field.value) }, options.map(([value, words]) => el('option', { value }, words)));
      this.fields.set(name, field);
      return field;
    };
    const find = el('input', { type: 'search', placeholder: 'pod name', 'aria-label': 'Show pods whose name contains', oninput: () => this.set('find', find.value) });
    this.fields.set('find', find);
    return el('span', { class: 'filters' },
      data.pods.length > 0 && [choice('pods', 'Which pods are shown', POD_FILTERS), find],
      data.failed.length > 0 && choice('lane', 'Failed requests on which connections', LANES),
      choice('clock', 'Clock of the axis', CLOCKS));
  }

  /** The switch of an outcome. */
  outcomeBox(name) {
    const box = el('input', { type: 'checkbox', onchange: () => { this.hidden[box.checked ? 'delete' : 'add'](name); this.changed(); } });
    box.checked = !this.hidden.has(name);
    this.boxes.set(name, box);
    return box;
  }
}
