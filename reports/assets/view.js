// The span of time that is shown, and where its moments lie on the page.

const SHORTEST_MS = 1;

/** The visible span `[from, to]` within the whole `range`, drawn between pixels `left` and `right`. */
export class View {
  constructor(range) {
    const margin = (range[1] - range[0]) * 0.005;
    this.range = [range[0] - margin, range[1] + margin];
    [this.from, this.to] = this.range;
    [this.left, this.right] = [0, 100];
    this.changed = () => {};
  }

  get span() { return this.to - this.from; }
  get msPerPixel() { return this.span / Math.max(1, this.right - this.left); }
  get whole() { return this.from <= this.range[0] && this.to >= this.range[1]; }

  x(ms) { return this.left + (ms - this.from) / this.msPerPixel; }
  ms(x) { return this.from + (x - this.left) * this.msPerPixel; }

  /** The x of a moment, kept within the drawing. */
  clipped(ms) { return Math.min(this.right, Math.max(this.left, this.x(ms))); }

  sees(from, to) { return to >= this.from && from <= this.to; }

  show(from, to) {
    const whole = this.range[1] - this.range[0];
    const span = Math.min(whole, Math.max(SHORTEST_MS, to - from));
    if (span > whole * 0.9999) {
      [this.from, this.to] = this.range;
      this.changed();
      return;
    }
    const middle = (from + to) / 2;
    const start = Math.min(this.range[1] - span, Math.max(this.range[0], middle - span / 2));
    [this.from, this.to] = [start, start + span];
    this.changed();
  }

  /** Makes the span `factor` times as long, leaving the moment `around` where it is. */
  zoom(factor, around = (this.from + this.to) / 2) {
    const span = Math.min(this.range[1] - this.range[0], Math.max(SHORTEST_MS, this.span * factor));
    const share = (around - this.from) / this.span;
    const from = around - share * span;
    this.show(from, from + span);
  }

  pan(ms) { this.show(this.from + ms, this.to + ms); }
  reset() { this.show(...this.range); }
}
