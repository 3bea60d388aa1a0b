// The timeline as a whole: its rows, its controls, and how it answers pointer and keyboard.

import { el, svg } from './dom.js';
import { local, moment, utc } from './time.js';
import { Tooltip } from './tooltip.js';
import { areaFill, patterns, shape } from './series.js';
import { latencyChart, outcomesChart } from './charts.js';
import { axis, burstRows, bursts, gaps, grid, stages } from './bands.js';
import { laneLayout, podLane, unplacedHeight, unplacedLane } from './lanes.js';

const NARROW = 640;
const GUTTER = 214;
const AXIS_HEIGHT = 24;
const MINIMAP_HEIGHT = 30;

const POD_FILTERS = [
  ['all', 'all pods', () => true],
  ['failed', 'pods with failures', (pod) => pod.failed > 0 || pod.requests.length > 0],
  ['ended', 'pods that ended', (pod) => pod.exit !== null || pod.deletion_requested_ms !== null],
  ['old', 'old template', (pod) => pod.old],
  ['new', 'new template', (pod) => !pod.old],
];

/** The drawing; `select` is told the key of what was clicked. */
export class Timeline {
  constructor(root, data, view, select) {
    Object.assign(this, { root, data, view, select, hidden: new Set(), podFilter: 'all', selected: null, queued: false });
    this.rows = burstRows(data.bursts);
    this.minimap = svg('svg', { class: 'minimap', height: MINIMAP_HEIGHT, role: 'img', 'aria-label': 'The whole run; the bright part is shown below' });
    this.axis = svg('svg', { class: 'axis-row', height: AXIS_HEIGHT, 'aria-hidden': 'true' });
    this.canvas = svg('svg', { class: 'canvas', role: 'group', 'aria-label': 'Lanes' });
    this.readout = el('output', { class: 'readout', 'aria-hidden': 'true' });
    this.cross = el('div', { class: 'cross', hidden: true });
    this.surface = el('div', { class: 'surface', tabindex: '0', role: 'group', 'aria-label': 'Timeline. Plus and minus zoom, arrows move, 0 shows the whole run.' },
      el('div', { class: 'sticky' }, this.minimap, this.axis), this.canvas, this.cross);
    root.replaceChildren(patterns(), this.controls(), this.surface, this.legend());
    this.tooltip = new Tooltip(this.surface, (clientX) => this.momentAt(clientX));
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.surface);
  }

  momentAt(clientX) { return this.view.ms(clientX - this.surface.getBoundingClientRect().left); }

  controls() {
    const button = (words, label, act) => el('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, words);
    const pods = el('select', { 'aria-label': 'Which pods are shown', onchange: (event) => { this.podFilter = event.target.value; this.draw(); } },
      POD_FILTERS.map(([value, words]) => el('option', { value }, words)));
    return el('div', { class: 'controls' },
      el('span', { class: 'buttons' },
        button('+', 'Zoom in', () => this.view.zoom(0.5)), button('−', 'Zoom out', () => this.view.zoom(2)),
        button('◀', 'Earlier', () => this.view.pan(-this.view.span / 4)), button('▶', 'Later', () => this.view.pan(this.view.span / 4)),
        button('Whole run', 'Show the whole run', () => this.view.reset())),
      this.data.pods.length > 0 && pods, this.readout,
      el('span', { class: 'hint' }, 'Drag to zoom in · Shift+drag moves · wheel zooms once clicked, Ctrl+wheel always · click anything for its evidence'));
  }

  /** What the marks mean; each outcome that occurs can be switched off. */
  legend() {
    const occurs = new Set(this.data.levels.flatMap((level) => Object.keys(level.counts)));
    const swatch = (...content) => svg('svg', { width: 18, height: 12, class: 'swatch', 'aria-hidden': 'true' }, ...content);
    const outcomes = this.data.series.filter(([name]) => occurs.has(name)).map(([name, words]) => {
      const box = el('input', { type: 'checkbox', onchange: () => { this.hidden[box.checked ? 'delete' : 'add'](name); this.draw(); } });
      box.checked = true;
      return el('label', {}, box, swatch(svg('rect', { width: 18, height: 12, fill: areaFill(name), class: 'swatch-back' }), name !== 'ok' && shape(name, 9, 6, 3.4)), words);
    });
    const phase = (name, words) => el('span', {}, swatch(svg('g', { class: `phase phase-${name}` }, svg('rect', { width: 18, height: 12 }))), words);
    const line = (height, words) => el('span', {}, swatch(svg('g', { class: `endpoint endpoint-${height}` }, svg('rect', { y: 4, width: 18, height }))), words);
    const podKeys = [
      phase('pending', 'pending'), phase('starting', 'starting'), phase('not_ready', 'not ready'), phase('ready', 'ready'), phase('terminating', 'terminating'),
      line(6, 'endpoint ready'), line(4, 'serving only'), line(2, 'neither'),
      el('span', {}, swatch(svg('path', { class: 'log-mark', d: 'M9,2L13,10H5Z' })), 'log line'),
    ];
    return el('div', { class: 'legend' }, el('div', { role: 'group', 'aria-label': 'Outcomes shown' }, outcomes),
      this.data.levels.length > 0 && el('div', {}, el('span', {}, swatch(svg('path', { class: 'latency latency-p50', d: 'M0,6H18' })), 'latency p50'),
        el('span', {}, swatch(svg('path', { class: 'latency latency-p99', d: 'M0,6H18' })), 'p99, from the due time')),
      this.data.pods.length > 0 && el('div', {}, podKeys));
  }

  /** Draws at the next frame. */
  draw() {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => { this.queued = false; this.drawNow(); });
  }

  drawNow() {
    const width = this.surface.clientWidth;
    if (width === 0) return;
    const focused = this.surface.contains(document.activeElement) ? document.activeElement.dataset?.key : undefined;
    this.narrow = width < NARROW;
    Object.assign(this.view, { left: this.narrow ? 4 : GUTTER, right: width - 10 });
    this.drawMinimap(width);
    this.axis.setAttribute('width', width);
    this.axis.replaceChildren(axis(this.view, AXIS_HEIGHT));
    this.drawLanes(width);
    if (focused) this.canvas.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    if (this.selected) this.canvas.querySelector(`[data-key="${CSS.escape(this.selected)}"]`)?.classList.add('selected');
  }

  drawLanes(width) {
    const { view, data, narrow } = this;
    const pods = data.pods.filter(POD_FILTERS.find(([name]) => name === this.podFilter)[2]);
    const layouts = pods.map((pod) => laneLayout(pod, narrow));
    const title = narrow ? 16 : 0;
    let y = 2;
    const take = (height) => { y += height; return y - height; };
    const stageBox = { y: take(data.stages.length > 0 ? 38 : 4) };
    const gapBox = { y: take(data.gaps.length > 0 ? 17 : 0) };
    const burstBox = { y: take(data.bursts.length > 0 ? (Math.max(...this.rows) + 1) * 30 + 4 : 0) };
    const outcomesBox = { y: take(title + 84) + title, height: 78 };
    const latencyBox = { y: take(title + 66) + title, height: 60 };
    const tops = layouts.map((layout) => take(layout.height));
    const unplacedTop = data.unplaced.length > 0 ? take(unplacedHeight(data, narrow)) : null;
    const options = { narrow, hidden: this.hidden, select: this.select, gutter: GUTTER };
    this.canvas.setAttribute('width', width);
    this.canvas.setAttribute('height', y + 4);
    this.canvas.replaceChildren(grid(view, y), gaps(view, gapBox, data, y), ...this.titles({ stageBox, gapBox, burstBox, outcomesBox, latencyBox }),
      stages(view, stageBox, data, y), outcomesChart(view, outcomesBox, data, this.hidden), latencyChart(view, latencyBox, data),
      bursts(view, burstBox, data, this.rows, y, this.select),
      ...pods.map((pod, i) => podLane(view, tops[i], layouts[i], pod, data, options)),
      ...(unplacedTop === null ? [] : [unplacedLane(view, unplacedTop, data, options)]));
  }

  titles({ stageBox, gapBox, burstBox, outcomesBox, latencyBox }) {
    const title = (words, y, note) => svg('g', { class: 'row-title' }, svg('text', { class: 'lane-name', x: this.narrow ? 6 : 8, y }, words),
      note && svg('text', { class: 'lane-note', x: this.narrow ? 6 + words.length * 7.2 + 8 : 8, y: this.narrow ? y : y + 15 }, note));
    const lift = this.narrow ? -19 : 0;
    return [
      !this.narrow && this.data.stages.length > 0 && title('stages', stageBox.y + 13),
      !this.narrow && this.data.gaps.length > 0 && title('not observed', gapBox.y + 11),
      !this.narrow && this.data.bursts.length > 0 && title('bursts of failures', burstBox.y + 14),
      title('requests', outcomesBox.y + 14 + lift, 'per second, by due time'),
      title('latency', latencyBox.y + 14 + lift, 'p50, p99 from due time'),
    ].filter(Boolean);
  }

  /** The whole run in small, failures over all, and the visible part. */
  drawMinimap(width) {
    const { view, data } = this;
    const whole = Object.assign(Object.create(Object.getPrototypeOf(view)), view, { from: view.range[0], to: view.range[1] });
    const [x0, x1] = [whole.x(view.from), whole.x(view.to)];
    const failed = data.failed.map((request) => svg('line', { class: `request-${request.series}`, x1: whole.x(request.to).toFixed(1), x2: whole.x(request.to).toFixed(1), y1: 6, y2: MINIMAP_HEIGHT - 6 }));
    const thinned = failed.length > 600 ? failed.filter((_, i) => i % Math.ceil(failed.length / 600) === 0) : failed;
    this.minimap.setAttribute('width', width);
    this.minimap.replaceChildren(
      svg('rect', { class: 'minimap-back', x: view.left, y: 3, width: view.right - view.left, height: MINIMAP_HEIGHT - 6 }),
      svg('g', {}, data.stages.map((stage, i) => svg('rect', { class: `minimap-stage stage-${i % 2}`, x: whole.clipped(stage.from_ms), y: 3,
        width: Math.max(0, whole.clipped(stage.to_ms ?? view.range[1]) - whole.clipped(stage.from_ms)), height: MINIMAP_HEIGHT - 6 }))),
      svg('g', { class: 'minimap-failed' }, thinned),
      svg('rect', { class: 'minimap-window', x: x0, y: 1.5, width: Math.max(3, x1 - x0), height: MINIMAP_HEIGHT - 3 }));
    this.whole = whole;
  }

  listen() {
    const { surface, view } = this;
    surface.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    surface.addEventListener('keydown', (event) => this.key(event));
    surface.addEventListener('pointermove', (event) => this.hover(event.clientX));
    surface.addEventListener('pointerleave', () => { this.cross.hidden = true; this.readout.textContent = ''; });
    surface.addEventListener('dblclick', (event) => view.zoom(0.4, this.momentAt(event.clientX)));
    this.minimap.addEventListener('pointerdown', (event) => this.dragMinimap(event));
    this.canvas.addEventListener('pointerdown', (event) => this.drag(event));
    this.axis.addEventListener('pointerdown', (event) => this.drag(event));
  }

  hover(clientX) {
    const ms = this.momentAt(clientX);
    const x = this.view.x(ms);
    this.cross.hidden = x < this.view.left || x > this.view.right;
    this.cross.style.left = `${x}px`;
    this.readout.textContent = this.cross.hidden ? '' : `${moment(ms)} · ${local(this.data.wall_start_ms, ms)} · ${utc(this.data.wall_start_ms, ms)}`;
  }

  wheel(event) {
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.view.pan(event.deltaX * this.view.msPerPixel);
      return;
    }
    if (!event.ctrlKey && !event.metaKey && !this.surface.contains(document.activeElement)) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 30 : 1;
    this.view.zoom(Math.exp(Math.max(-120, Math.min(120, event.deltaY * lines)) * 0.004), this.momentAt(event.clientX));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { view } = this;
    const act = {
      '+': () => view.zoom(0.5), '=': () => view.zoom(0.5), '-': () => view.zoom(2), '_': () => view.zoom(2), 0: () => view.reset(), Home: () => view.show(view.range[0], view.range[0] + view.span),
      End: () => view.show(view.range[1] - view.span, view.range[1]), ArrowLeft: () => view.pan(-view.span / 10), ArrowRight: () => view.pan(view.span / 10),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Follows one pointer until it is let go. */
  follow(event, move, end = () => {}) {
    const abort = new AbortController();
    const finish = (last) => { abort.abort(); end(last); };
    window.addEventListener('pointermove', (next) => { if (next.pointerId === event.pointerId) move(next); }, { signal: abort.signal });
    window.addEventListener('pointerup', (last) => { if (last.pointerId === event.pointerId) finish(last); }, { signal: abort.signal });
    window.addEventListener('pointercancel', (last) => { if (last.pointerId === event.pointerId) finish(null); }, { signal: abort.signal });
  }

  drag(event) {
    if (event.button > 1) return;
    this.surface.focus({ preventScroll: true });
    if (event.pointerType === 'touch') { this.touch(event); return; }
    const start = this.momentAt(event.clientX);
    if (start < this.view.from || start > this.view.to) return;
    if (event.shiftKey || event.button === 1) this.dragMove(event);
    else this.dragZoom(event, start);
  }

  /** One finger moves, two zoom around their middle. */
  touch(event) {
    this.fingers ??= new Map();
    const { fingers } = this;
    const lift = () => fingers.delete(event.pointerId);
    fingers.set(event.pointerId, event.clientX);
    this.follow(event, (next) => {
      const last = fingers.get(event.pointerId);
      const other = [...fingers.entries()].find(([id]) => id !== event.pointerId)?.[1];
      fingers.set(event.pointerId, next.clientX);
      if (other === undefined) this.view.pan((last - next.clientX) * this.view.msPerPixel);
      else this.view.zoom(Math.max(8, Math.abs(other - last)) / Math.max(8, Math.abs(other - next.clientX)), this.momentAt((other + next.clientX) / 2));
    }, lift);
  }

  dragMove(event) {
    let last = event.clientX;
    this.follow(event, (next) => { this.view.pan((last - next.clientX) * this.view.msPerPixel); last = next.clientX; });
  }

  dragZoom(event, start) {
    const brush = el('div', { class: 'brush', hidden: true });
    this.surface.append(brush);
    const at = (next) => Math.min(this.view.to, Math.max(this.view.from, this.momentAt(next.clientX)));
    this.follow(event, (next) => {
      const [x0, x1] = [this.view.x(start), this.view.x(at(next))].sort((a, b) => a - b);
      brush.hidden = x1 - x0 < 4;
      brush.style.left = `${x0}px`;
      brush.style.width = `${x1 - x0}px`;
    }, (last) => {
      const zoomed = !brush.hidden;
      brush.remove();
      if (!last || !zoomed) return;
      const abort = new AbortController();
      window.addEventListener('click', (click) => click.stopPropagation(), { capture: true, signal: abort.signal });
      setTimeout(() => abort.abort(), 30);
      this.view.show(...[start, at(last)].sort((a, b) => a - b));
    });
  }

  dragMinimap(event) {
    const left = () => this.surface.getBoundingClientRect().left;
    const centre = (next) => {
      const ms = this.whole.ms(next.clientX - left());
      this.view.show(ms - this.view.span / 2, ms + this.view.span / 2);
    };
    if (this.view.whole) { this.dragZoom(event, this.momentAt(event.clientX)); return; }
    centre(event);
    this.follow(event, centre);
  }
}
