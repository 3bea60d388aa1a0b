// The whole run in small: stages, where requests failed, and the part that is shown.

import { svg } from './dom.js';

export const MINIMAP_HEIGHT = 30;
const COLUMN = 2;

/** The minimap. Only the window moves; the rest is drawn anew when the width or the filters change. */
export class Minimap {
  constructor(data, view, filters) {
    Object.assign(this, { data, view, filters, drawnFor: '' });
    this.window = svg('rect', { class: 'minimap-window', y: 1.5, height: MINIMAP_HEIGHT - 3 });
    this.back = svg('g', {});
    this.element = svg('svg', { class: 'minimap', height: MINIMAP_HEIGHT, role: 'img', 'aria-label': 'The whole run; the bright part is shown below' }, this.back, this.window);
  }

  /** The view of the whole run, for moments under the pointer. */
  get whole() {
    const { view } = this;
    return Object.assign(Object.create(Object.getPrototypeOf(view)), view, { from: view.range[0], to: view.range[1] });
  }

  draw(width) {
    const whole = this.whole;
    const wanted = `${width} ${whole.left} ${whole.right} ${this.filters.text()}`;
    if (wanted !== this.drawnFor) {
      this.drawnFor = wanted;
      this.element.setAttribute('width', width);
      this.back.replaceChildren(...this.background(whole));
    }
    const x0 = whole.x(this.view.from);
    this.window.setAttribute('x', x0);
    this.window.setAttribute('width', Math.max(3, whole.x(this.view.to) - x0));
  }

  background(whole) {
    const { data, view } = this;
    return [
      svg('rect', { class: 'minimap-back', x: view.left, y: 3, width: view.right - view.left, height: MINIMAP_HEIGHT - 6 }),
      ...data.stages.map((stage, i) => {
        const x = whole.clipped(stage.from_ms);
        return svg('rect', { class: `minimap-stage stage-${i % 2}`, x, y: 3, width: Math.max(0, whole.clipped(stage.to_ms ?? view.range[1]) - x), height: MINIMAP_HEIGHT - 6 });
      }),
      this.failures(whole),
    ];
  }

  /** One line for every few pixels in which requests failed, for the outcome that most of them had. */
  failures(whole) {
    const columns = new Map();
    const lines = new Map();
    for (const request of this.data.failed) {
      if (!this.filters.shows(request)) continue;
      const column = Math.round(whole.clipped(request.to) / COLUMN);
      if (!columns.has(column)) columns.set(column, new Map());
      const counts = columns.get(column);
      counts.set(request.series, (counts.get(request.series) ?? 0) + 1);
    }
    for (const [column, counts] of columns) {
      const [most] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
      lines.set(most, `${lines.get(most) ?? ''}M${column * COLUMN},6V${MINIMAP_HEIGHT - 6}`);
    }
    return svg('g', { class: 'minimap-failed' }, [...lines].map(([series, d]) => svg('path', { class: `request-${series}`, d })));
  }
}
