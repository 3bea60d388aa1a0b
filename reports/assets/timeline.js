// The timeline as a whole: charts over lanes. Of many lanes only those in view are drawn.

import { el, svg } from './dom.js';
import { local, moment, utc } from './time.js';
import { Tooltip } from './tooltip.js';
import { patterns } from './series.js';
import { latencyChart, outcomesChart } from './charts.js';
import { axis, behindLanes, gaps, grid, stages, veil } from './bands.js';
import { BurstMarks } from './burst_marks.js';
import { jobsHeight, jobsLane, laneLabel, laneLayout, podLane, unplacedHeight, unplacedLane } from './lanes.js';
import { Minimap } from './minimap.js';
import { Gestures } from './gestures.js';
import { legend } from './legend.js';

const NARROW = 640;
const GUTTER = 214;
const AXIS_HEIGHT = 24;
/** Lanes together that get a scroll bar of their own, px. */
const TALL = 1500;
/** Lanes that are drawn above and below those in view, px. */
const BEYOND = 150;
/** Failed requests that are drawn one by one, in all lanes in view. */
const MOST_MARKS = 900;
const PRINTED_LANES = 120;

/** The drawing; `select` is told the key of what was clicked. */
export class Timeline {
  constructor(root, data, view, filters, select) {
    Object.assign(this, { root, data, view, filters, select, selected: null, highlighted: null, queued: 0, printing: false });
    this.minimap = new Minimap(data, view, filters);
    this.axis = svg('svg', { class: 'axis-row', height: AXIS_HEIGHT, 'aria-hidden': 'true' });
    this.head = svg('svg', { class: 'canvas', role: 'group', 'aria-label': 'Stages, bursts, requests and latency' });
    this.behind = svg('g');
    this.bursts = new BurstMarks(data.bursts, select);
    this.head.append(this.behind, this.bursts.element);
    this.canvas = svg('svg', { class: 'canvas', role: 'group', 'aria-label': 'Lanes of pods' });
    this.labels = svg('g');
    this.shown = svg('g');
    this.canvas.append(this.labels, this.shown);
    this.lanes = el('div', { class: 'lanes' }, this.canvas);
    this.readout = el('output', { class: 'readout', 'aria-hidden': 'true' });
    this.cross = el('div', { class: 'cross', hidden: true });
    this.surface = el('div', { class: 'surface', tabindex: '0', role: 'group', 'aria-label': 'Timeline. Plus and minus zoom, arrows move, 0 shows the whole run.' },
      el('div', { class: 'sticky' }, this.minimap.element, this.axis), this.head, this.lanes, this.cross);
    root.replaceChildren(patterns(), this.controls(), this.surface, legend(data, filters));
    root.classList.remove('waiting');
    this.tooltip = new Tooltip(this.surface, (clientX) => this.momentAt(clientX));
    this.gestures = new Gestures(this);
    this.surface.addEventListener('pointermove', (event) => this.hover(event.clientX));
    this.surface.addEventListener('pointerleave', () => { this.cross.hidden = true; this.readout.textContent = ''; });
    this.lanes.addEventListener('scroll', () => { this.scrolled = this.lanes.scrollTop; this.draw(); }, { passive: true });
    const resized = new ResizeObserver(() => { if (this.measure()) this.draw(); });
    for (const part of [this.surface, this.lanes]) resized.observe(part);
  }

  momentAt(clientX) { return this.view.ms(clientX - this.surface.getBoundingClientRect().left); }

  controls() {
    const button = (words, label, act) => el('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, words);
    return el('div', { class: 'controls' },
      el('span', { class: 'buttons' },
        button('+', 'Zoom in', () => this.view.zoom(0.5)), button('−', 'Zoom out', () => this.view.zoom(2)),
        button('◀', 'Earlier', () => this.view.pan(-this.view.span / 4)), button('▶', 'Later', () => this.view.pan(this.view.span / 4)),
        button('Whole run', 'Whole run: show all of it', () => this.view.reset())),
      this.filters.controls(this.data), this.readout,
      el('span', { class: 'hint' }, 'Drag to zoom in · Shift+drag moves · wheel zooms once clicked, Ctrl+wheel always · click anything for its evidence'));
  }

  /** Draws at the next frame. */
  draw() {
    this.queued ||= requestAnimationFrame(() => this.drawNow());
  }

  /**
   * Takes the sizes that a drawing rests on; whether they differ from the last ones. To ask for them makes the browser
   * lay the page out, so that drawing asks only when lanes have come or gone.
   */
  measure() {
    const { surface, lanes } = this;
    const size = { width: surface.clientWidth, bar: lanes.offsetWidth - lanes.clientWidth, tall: lanes.clientHeight };
    const differs = Object.keys(size).some((name) => size[name] !== this.size?.[name]);
    this.size = size;
    return differs;
  }

  drawNow() {
    cancelAnimationFrame(this.queued);
    this.queued = 0;
    if (!this.size) this.measure();
    if (this.size.width === 0) return;
    const focused = this.surface.contains(document.activeElement) ? document.activeElement.dataset?.key : undefined;
    this.narrow = this.size.width < NARROW;
    this.layOut();
    const { width, bar } = this.size;
    Object.assign(this.view, { left: this.narrow ? 4 : GUTTER, right: width - 10 - bar });
    this.minimap.draw(width);
    this.axis.setAttribute('width', width);
    this.axis.replaceChildren(axis(this.view, AXIS_HEIGHT, this.filters.clock, this.data.wall_start_ms));
    this.drawHead(width);
    this.drawLanes(width - bar, focused);
    if (focused) this.marked(focused)?.focus({ preventScroll: true });
    this.highlighted?.classList.remove('selected');
    this.highlighted = this.selected && this.marked(this.selected);
    this.highlighted?.classList.add('selected');
  }

  marked(key) { return this.surface.querySelector(`[data-key="${CSS.escape(key)}"]`); }

  /** The lanes' places, anew when filters or width have changed them. */
  layOut() {
    const wanted = `${this.filters.pods} ${this.filters.find} ${this.narrow} ${this.printing}`;
    if (wanted === this.laidOutFor) return;
    this.laidOutFor = wanted;
    this.placeLanes();
    this.many = this.height > TALL && !this.printing;
    this.lanes.classList.toggle('many', this.many);
    if (this.many) this.lanes.setAttribute('tabindex', '0');
    else this.lanes.removeAttribute('tabindex');
    this.measure();
    this.scrolled = this.lanes.scrollTop;
  }

  placeLanes() {
    let y = 0;
    this.places = this.filters.podsOf(this.data).map((pod) => {
      const layout = laneLayout(pod, this.narrow);
      y += layout.height;
      return { pod, layout, top: y - layout.height };
    });
    this.unplacedTop = y;
    this.jobsTop = y + (this.data.unplaced.length > 0 ? unplacedHeight(this.data, this.narrow) : 0);
    this.height = this.jobsTop + jobsHeight(this.data, this.narrow) + 4;
    this.canvas.setAttribute('height', this.height);
  }

  drawHead(width) {
    const { view, data, narrow } = this;
    const title = narrow ? 16 : 0;
    let y = 2;
    const take = (height) => { y += height; return y - height; };
    const stageBox = { y: take(data.stages.length > 0 ? 38 : 4) };
    const gapBox = { y: take(data.gaps.length > 0 ? 17 : 0) };
    const burstBox = { y: take(data.bursts.length > 0 ? this.bursts.height + 4 : 0) };
    const outcomesBox = { y: take(title + 84) + title, height: 78 };
    const latencyBox = { y: take(title + 66) + title, height: 60 };
    this.head.setAttribute('width', width);
    this.head.setAttribute('height', y);
    this.behind.replaceChildren(...[grid(view, 0, y, this.filters.clock), gaps(view, gapBox, data, y), ...this.titles({ stageBox, gapBox, burstBox, outcomesBox, latencyBox }),
      stages(view, stageBox, data, y), outcomesChart(view, outcomesBox, data, this.filters.hidden), latencyChart(view, latencyBox, data),
      veil(view, data.bursts, burstBox.y + 20, y)].filter(Boolean));
    this.bursts.draw(view, burstBox.y);
  }

  /** The lanes in view, and the one that has the focus wherever it is. */
  drawLanes(width, focused) {
    const { view, data, places } = this;
    const from = this.many ? this.scrolled - BEYOND : -Infinity;
    const to = this.many ? this.scrolled + this.size.tall + BEYOND : Infinity;
    let drawn = places.filter(({ pod, top, layout }) => (top + layout.height > from && top < to) || `pod-${pod.index}` === focused);
    if (this.printing) drawn = drawn.slice(0, PRINTED_LANES);
    const last = data.unplaced.length > 0 && this.height > from && this.unplacedTop < to;
    const options = { narrow: this.narrow, filters: this.filters, select: this.select, gutter: GUTTER, crowded: Math.max(40, MOST_MARKS / (drawn.length + 1)) };
    const [top, bottom] = [Math.max(0, from), Math.min(this.height, to)];
    this.canvas.setAttribute('width', width);
    this.labelLanes(drawn, options);
    this.shown.replaceChildren(grid(view, top, bottom, this.filters.clock), behindLanes(view, data, top, bottom),
      ...drawn.map(({ pod, layout, top: y }) => podLane(view, y, layout, pod, data, options)),
      ...(last ? [unplacedLane(view, this.unplacedTop, data, options)] : []),
      ...(data.jobs && this.height > from && this.jobsTop < to ? [jobsLane(view, this.jobsTop, data, options)] : []));
  }

  /** The labels of the lanes that are drawn, anew when others are. */
  labelLanes(drawn, options) {
    const wanted = [this.narrow, this.view.right, ...drawn.map(({ pod, top }) => `${pod.index} ${top}`)].join();
    if (wanted === this.labelled) return;
    this.labelled = wanted;
    this.labels.replaceChildren(...drawn.map(({ pod, top }) => laneLabel(this.view, top, pod, options)));
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

  /** Brings the lane of a selected pod or failed request into view. */
  reveal(key) {
    if (!this.many || !key) return;
    const [kind, id] = key.split('-');
    const named = kind === 'pod' ? Number(id) : this.data.failed.find((request) => kind === 'request' && request.seq === Number(id))?.podIndex;
    const place = this.places.find(({ pod }) => pod.index === named);
    if (!place) return;
    const { scrollTop, clientHeight } = this.lanes;
    if (place.top < scrollTop || place.top + place.layout.height > scrollTop + clientHeight) this.lanes.scrollTop = place.top - clientHeight / 3;
  }

  hover(clientX) {
    const ms = this.momentAt(clientX);
    const x = this.view.x(ms);
    this.cross.hidden = x < this.view.left || x > this.view.right;
    this.cross.style.left = `${x}px`;
    this.readout.textContent = this.cross.hidden ? '' : `${moment(ms)} · ${local(this.data.wall_start_ms, ms)} · ${utc(this.data.wall_start_ms, ms)}`;
  }
}
