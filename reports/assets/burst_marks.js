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
    this.lines = svg('path', { class: 'burst-lines', 'aria-hidden': 'true' });
    this.element = svg('g', {}, this.lines, rows.map((row) => svg('g', {}, row.map((bracket) => bracket.element))));
  }

  /** All of them as one line, and each with what answers pointer and keyboard. */
  draw(view, y) {
    const lines = [];
    for (const row of this.rows) {
      const sees = ({ burst }) => view.sees(burst.from_ms, burst.to_ms);
      const seen = row.filter(sees);
      for (const bracket of row) if (!sees(bracket)) bracket.show(false);
      seen.forEach((bracket, i) => lines.push(bracket.draw(view, y, seen[i - 1]?.burst, seen[i + 1]?.burst)));
    }
    this.lines.setAttribute('d', lines.join('') || 'M0,0');
  }
}

/** One bracket. What it was drawn with last is kept, and only what differs is set. */
class Bracket {
  constructor(burst, row, select) {
    Object.assign(this, { burst, row, drawn: {}, name: nameOf(burst) });
    this.hit = svg('rect', { class: 'hit', height: 28 });
    this.text = svg('text');
    this.element = svg('g', { class: 'burst-mark' }, this.hit);
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

  /** Draws it between its neighbours in its row, and gives its line; nothing where the one before covers it. */
  draw(view, y, before, after) {
    const { burst } = this;
    const x0 = view.clipped(burst.from_ms);
    const x1 = Math.max(view.clipped(burst.to_ms), x0 + 3);
    const left = before ? view.clipped(before.to_ms) : view.left;
    const covered = before && x1 < left + 3;
    this.show(!covered);
    if (covered) return '';
    const right = after ? Math.max(x0, view.clipped(after.from_ms)) : view.right;
    const long = `#${burst.id} ${this.name} · ${burst.failed}`;
    const end = x0 + long.length * CHARACTER * 1.12 > right && !after && x1 - long.length * CHARACTER * 1.12 > left + 24;
    const room = right - x0 - 8;
    const top = y + this.row * BURST_ROW;
    this.label(end ? long : fitting(long, room / 1.12) || (room > 20 ? `#${burst.id}` : ''));
    this.place(x0, x1, top, end);
    return `M${x0.toFixed(1)},${top + 25}V${top + 18}H${x1.toFixed(1)}V${top + 25}`;
  }

  place(x0, x1, top, end) {
    this.set(this.hit, 'x', (x0 - 3).toFixed(1));
    this.set(this.hit, 'y', top);
    this.set(this.hit, 'width', Math.max(20, x1 - x0 + 6).toFixed(1));
    if (this.drawn.label === '') return;
    this.set(this.text, 'x', (end ? x1 : x0).toFixed(1));
    this.set(this.text, 'y', top + 13);
    this.set(this.text, 'text-anchor', end ? 'end' : 'start');
  }

  set(element, name, value) {
    if (this.differs(`${element === this.hit ? 'hit' : 'text'} ${name}`, value)) element.setAttribute(name, value);
  }

  label(label) {
    if (!this.differs('label', label)) return;
    const { burst } = this;
    this.text.textContent = label;
    if (label === '') this.text.remove();
    else if (!this.text.isConnected) this.element.append(this.text);
    this.element.setAttribute('aria-label', `${label} burst ${burst.id}, ${this.name}, ${burst.failed} failed. ${burst.summary}`);
  }
}
