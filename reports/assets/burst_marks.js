// Bursts as brackets with number, cause and count. The elements stay; a zoom only moves and labels them.

import { pressable, svg } from './dom.js';
import { moment } from './time.js';
import { CHARACTER, fitting } from './bands.js';
import { tip } from './tooltip.js';

export const BURST_ROW = 30;

const nameOf = (burst) => (burst.detail ? `${burst.cause} (${burst.detail})` : burst.cause);

/** Gives each burst the first row in which it overlaps no other. */
function rowOfEach(bursts) {
  const ends = [];
  return bursts.map((burst) => {
    let row = ends.findIndex((end) => end < burst.from_ms);
    if (row < 0) row = ends.length < 4 ? ends.length : ends.indexOf(Math.min(...ends));
    ends[row] = burst.to_ms;
    return row;
  });
}

/** The brackets of all bursts, in as many rows as overlap. */
export class BurstMarks {
  constructor(bursts, select) {
    const rows = [];
    rowOfEach(bursts).forEach((row, i) => (rows[row] ??= []).push(new Bracket(bursts[i], row, select)));
    this.rows = rows;
    this.height = rows.length * BURST_ROW;
    this.element = svg('g', {}, rows.map((row) => svg('g', {}, row.map((bracket) => bracket.element))));
  }

  draw(view, y) {
    for (const row of this.rows) {
      const sees = ({ burst }) => view.sees(burst.from_ms, burst.to_ms);
      const seen = row.filter(sees);
      for (const bracket of row) if (!sees(bracket)) bracket.show(false);
      seen.forEach((bracket, i) => bracket.draw(view, y, seen[i - 1]?.burst, seen[i + 1]?.burst));
    }
  }
}

/** One bracket. What it was drawn with last is kept, and only what differs is set. */
class Bracket {
  constructor(burst, row, select) {
    Object.assign(this, { burst, row, drawn: {}, name: nameOf(burst) });
    this.hit = svg('rect', { class: 'hit', x: -3, height: 28 });
    this.text = svg('text', { y: 13 });
    this.line = svg('path');
    this.element = svg('g', { class: 'burst-mark' }, this.hit, this.text, this.line);
    pressable(this.element, `burst-${burst.id}`, '', () => select(`burst-${burst.id}`));
    tip(this.element, () => [`#${burst.id} ${this.name}`, ['failed', burst.failed], ['from', moment(burst.from_ms)], ['to', moment(burst.to_ms)],
      ['confidence', burst.confidence.toFixed(2)], ['pods', burst.pods.join(', ') || 'not known'], ['', burst.summary]]);
  }

  /** Whether `value` of `name` differs from what is drawn; it is taken as drawn then. */
  differs(name, value) {
    if (this.drawn[name] === value) return false;
    this.drawn[name] = value;
    return true;
  }

  show(seen) {
    if (!this.differs('seen', seen)) return;
    if (seen) this.element.removeAttribute('display');
    else this.element.setAttribute('display', 'none');
  }

  /** Draws it between its neighbours in its row; nothing where the one before covers it. */
  draw(view, y, before, after) {
    const { burst } = this;
    const x0 = view.clipped(burst.from_ms);
    const x1 = Math.max(view.clipped(burst.to_ms), x0 + 3);
    const left = before ? view.clipped(before.to_ms) : view.left;
    const covered = before && x1 < left + 3;
    this.show(!covered);
    if (covered) return;
    const right = after ? Math.max(x0, view.clipped(after.from_ms)) : view.right;
    const long = `#${burst.id} ${this.name} · ${burst.failed}`;
    const end = x0 + long.length * CHARACTER * 1.12 > right && !after && x1 - long.length * CHARACTER * 1.12 > left + 24;
    const room = right - x0 - 8;
    this.place(x0, y + this.row * BURST_ROW, x1 - x0, end);
    this.label(end ? long : fitting(long, room / 1.12) || (room > 20 ? `#${burst.id}` : ''));
  }

  place(x, y, width, end) {
    const wide = width.toFixed(1);
    if (this.differs('place', `${x.toFixed(1)},${y}`)) this.element.setAttribute('transform', `translate(${this.drawn.place})`);
    if (this.differs('width', wide)) {
      this.line.setAttribute('d', `M0,25V18H${wide}V25`);
      this.hit.setAttribute('width', Math.max(20, width + 6));
    }
    const [at, anchor] = end ? [wide, 'end'] : [0, 'start'];
    if (this.differs('text', `${at} ${anchor}`)) {
      this.text.setAttribute('x', at);
      this.text.setAttribute('text-anchor', anchor);
    }
  }

  label(label) {
    if (!this.differs('label', label)) return;
    const { burst } = this;
    this.text.textContent = label;
    this.element.setAttribute('aria-label', `${label} burst ${burst.id}, ${this.name}, ${burst.failed} failed. ${burst.summary}`);
  }
}
