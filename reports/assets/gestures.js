// How the timeline answers pointer and keyboard.

import { el } from './dom.js';

/** Wheel, keys, drag and touch on a timeline. */
export class Gestures {
  constructor(timeline) {
    const { surface, view, minimap } = timeline;
    Object.assign(this, { timeline, surface, view, minimap, fingers: new Map() });
    surface.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    surface.addEventListener('keydown', (event) => this.key(event));
    surface.addEventListener('dblclick', (event) => view.zoom(0.4, timeline.momentAt(event.clientX)));
    minimap.element.addEventListener('pointerdown', (event) => this.dragMinimap(event));
    for (const part of [timeline.head, timeline.canvas, timeline.axis]) part.addEventListener('pointerdown', (event) => this.drag(event));
  }

  /** Zooms once the timeline was clicked, always with Ctrl; over lanes that scroll by themselves only with Ctrl. */
  wheel(event) {
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.view.pan(event.deltaX * this.view.msPerPixel);
      return;
    }
    const held = event.ctrlKey || event.metaKey;
    const scrolls = this.timeline.many && this.timeline.lanes.contains(event.target);
    if (!held && (scrolls || !this.surface.contains(document.activeElement))) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 30 : 1;
    this.view.zoom(Math.exp(Math.max(-120, Math.min(120, event.deltaY * lines)) * 0.004), this.timeline.momentAt(event.clientX));
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
    const start = this.timeline.momentAt(event.clientX);
    if (start < this.view.from || start > this.view.to) return;
    if (event.shiftKey || event.button === 1) this.dragMove(event);
    else this.dragZoom(event, start);
  }

  /** One finger moves, two zoom around their middle. */
  touch(event) {
    const { fingers } = this;
    const lift = () => fingers.delete(event.pointerId);
    fingers.set(event.pointerId, event.clientX);
    this.follow(event, (next) => {
      const last = fingers.get(event.pointerId);
      const other = [...fingers.entries()].find(([id]) => id !== event.pointerId)?.[1];
      fingers.set(event.pointerId, next.clientX);
      if (other === undefined) this.view.pan((last - next.clientX) * this.view.msPerPixel);
      else this.view.zoom(Math.max(8, Math.abs(other - last)) / Math.max(8, Math.abs(other - next.clientX)), this.timeline.momentAt((other + next.clientX) / 2));
    }, lift);
  }

  dragMove(event) {
    let last = event.clientX;
    this.follow(event, (next) => { this.view.pan((last - next.clientX) * this.view.msPerPixel); last = next.clientX; });
  }

  dragZoom(event, start) {
    const brush = el('div', { class: 'brush', hidden: true });
    this.surface.append(brush);
    const at = (next) => Math.min(this.view.to, Math.max(this.view.from, this.timeline.momentAt(next.clientX)));
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
      const ms = this.minimap.whole.ms(next.clientX - left());
      this.view.show(ms - this.view.span / 2, ms + this.view.span / 2);
    };
    if (this.view.whole) { this.dragZoom(event, this.timeline.momentAt(event.clientX)); return; }
    centre(event);
    this.follow(event, centre);
  }
}
