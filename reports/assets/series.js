// How each kind of outcome looks: a colour, a pattern and a shape, so that colour never stands alone.

import { svg } from './dom.js';

const SHAPES = {
  connect: (x, y, r) => `M${x - r},${y - r}L${x + r},${y + r}M${x + r},${y - r}L${x - r},${y + r}`,
  cut: (x, y, r) => `M${x - r},${y - r}H${x + r}L${x},${y + r}Z`,
  truncated: (x, y, r) => `M${x - r},${y - r}H${x}V${y + r}H${x - r}ZM${x},${y - r}H${x + r}V${y + r}H${x}`,
  status: (x, y, r) => `M${x},${y - r * 1.2}L${x + r * 1.2},${y}L${x},${y + r * 1.2}L${x - r * 1.2},${y}Z`,
  other: (x, y, r) => `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
  dropped: (x, y, r) => `M${x - r},${y}H${x + r}`,
  aborted: (x, y, r) => `M${x - r},${y - r}H${x + r}V${y + r}H${x - r}Z`,
  ok: (x, y, r) => `M${x - r},${y - r}H${x + r}V${y + r}H${x - r}Z`,
};

const PATTERNS = {
  cut: 'M-1,1l2,-2M0,6l6,-6M5,7l2,-2',
  truncated: 'M3,0V6',
  status: 'M0,3H6',
  other: 'M2,3h2',
  dropped: 'M0,0L6,6M6,0L0,6',
  aborted: 'M0,3H6M3,0V6',
};

/** The mark of an outcome's series at a place. */
export function shape(series, x, y, r = 4) {
  return svg('path', { class: `mark mark-${series}`, d: SHAPES[series](x, y, r) });
}

function pattern(id, path, className) {
  return svg('pattern', { id, width: 6, height: 6, patternUnits: 'userSpaceOnUse' },
    svg('rect', { width: 6, height: 6, class: `${className} back` }),
    svg('path', { d: path, class: `${className} stroke`, 'stroke-width': 1.4 }));
}

/** The patterns that areas and phases are filled with; once in the page. */
export function patterns() {
  const areas = Object.entries(PATTERNS).map(([name, path]) => pattern(`pattern-${name}`, path, `series-${name}`));
  return svg('svg', { class: 'definitions', 'aria-hidden': 'true', width: 0, height: 0 }, svg('defs', {},
    areas,
    pattern('pattern-pending', 'M0,3H2', 'phase-pending'),
    pattern('pattern-starting', 'M2,3h2M5,0h2M-1,0h2', 'phase-starting'),
    pattern('pattern-not_ready', 'M3,0V6', 'phase-not_ready'),
    pattern('pattern-terminating', 'M-1,1l2,-2M0,6l6,-6M5,7l2,-2', 'phase-terminating')));
}

/** What fills an area of a series. */
export const areaFill = (series) => (PATTERNS[series] ? `url(#pattern-${series})` : `var(--series-${series})`);
