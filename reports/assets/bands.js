// What runs across all lanes: the axis, the stages with their marks, the time of bursts, gaps in the observation.

import { svg } from './dom.js';
import { clockLabel, length, local, moment, ticks, utc } from './time.js';
import { tip } from './tooltip.js';

/** The width of a character, px, about. */
export const CHARACTER = 6.1;

/** As much of `text` as fits into `width` pixels; nothing when that is next to nothing. */
export function fitting(text, width) {
  const characters = Math.floor(width / CHARACTER);
  if (text.length <= characters) return text;
  return characters >= 4 ? `${text.slice(0, characters - 1)}…` : '';
}

/** The axis, on the clock that was chosen. */
export function axis(view, height, clock, wallStart) {
  const found = ticks(view.from, view.to, (view.right - view.left) / (clock === 'run' ? 80 : 110));
  return svg('g', { class: 'axis' },
    svg('line', { x1: view.left, x2: view.right, y1: height - 0.5, y2: height - 0.5 }),
    found.map((tick) => [
      svg('line', { x1: view.x(tick.ms), x2: view.x(tick.ms), y1: height - 6, y2: height }),
      svg('text', { x: Math.max(view.x(tick.ms), view.left > 20 ? 0 : 14), y: height - 9, 'text-anchor': 'middle' }, clockLabel(clock, wallStart, tick)),
    ]));
}

/** Faint lines at the axis' ticks. */
export function grid(view, top, bottom, clock) {
  const found = ticks(view.from, view.to, (view.right - view.left) / (clock === 'run' ? 80 : 110));
  return svg('path', { class: 'grid', 'aria-hidden': 'true', d: found.map(({ ms }) => `M${view.x(ms).toFixed(1)},${top}V${bottom}`).join('') || 'M0,0' });
}

/** What runs on behind the lanes: bursts, stage marks and gaps, between two heights. */
export function behindLanes(view, data, top, bottom) {
  const seen = (list) => list.filter((it) => view.sees(it.from_ms, it.to_ms ?? view.range[1]));
  const strip = (className, it) => {
    const [x0, x1] = [view.clipped(it.from_ms), view.clipped(it.to_ms ?? view.range[1])];
    return svg('rect', { class: className, x: x0, y: top, width: Math.max(1, x1 - x0), height: bottom - top });
  };
  const marks = data.stages.flatMap((stage) => stage.marks).filter((mark) => view.sees(mark.at_ms, mark.at_ms));
  return svg('g', { 'aria-hidden': 'true' },
    seen(data.gaps).map((gap) => svg('g', { class: `gap${gap.matters ? ' gap-matters' : ''}` }, strip('shade', gap))),
    veil(view, data.bursts, top, bottom),
    marks.map((mark) => svg('g', { class: 'stage-mark' }, svg('line', { class: 'through', x1: view.x(mark.at_ms), x2: view.x(mark.at_ms), y1: top, y2: bottom }))));
}

const MARK_WORDS = {
  rollout_requested: 'rollout requested',
  rollout_complete: 'rollout complete',
  old_pods_gone: 'old pods gone',
  foreign_rollout: 'rollout by somebody else',
};

/** Stages as bands, with their marks under them as lines through everything below. */
export function stages(view, box, data, height) {
  const bands = data.stages.filter((stage) => view.sees(stage.from_ms, stage.to_ms ?? view.range[1])).map((stage, i) => {
    const to = stage.to_ms ?? view.range[1];
    const [x0, x1] = [view.clipped(stage.from_ms), view.clipped(to)];
    const failed = stage.end === 'failed' ? ' ✗' : '';
    return tip(svg('g', { class: `stage stage-${i % 2} stage-${stage.end}` },
      svg('rect', { x: x0, y: box.y, width: Math.max(1, x1 - x0), height: 18 }),
      svg('text', { x: x0 + 4, y: box.y + 13 }, fitting(stage.kind + failed, x1 - x0 - 6))),
    () => [`stage ${stage.kind}`, ['from', moment(stage.from_ms)],
      ['to', stage.to_ms === null ? 'never ended' : moment(stage.to_ms)], ['took', length(to - stage.from_ms)],
      ['end', stage.end], stage.detail && ['because', stage.detail]]);
  });
  let free = -Infinity;
  const marks = data.stages.flatMap((stage) => stage.marks).filter((mark) => view.sees(mark.at_ms, mark.at_ms)).map((mark) => {
    const x = view.x(mark.at_ms);
    const words = MARK_WORDS[mark.mark] ?? fitting(mark.mark, 200);
    const left = x + words.length * CHARACTER > view.right;
    const start = left ? x - words.length * CHARACTER - 4 : x;
    const label = start > free && svg('text', { x: left ? x - 3 : x + 3, y: box.y + 30, 'text-anchor': left ? 'end' : 'start' }, words);
    if (label) free = start + words.length * CHARACTER + 8;
    return tip(svg('g', { class: 'stage-mark' },
      svg('line', { x1: x, x2: x, y1: box.y + 18, y2: height, class: 'through' }),
      svg('line', { x1: x, x2: x, y1: box.y + 18, y2: box.y + 34, class: 'grip' }), label),
    () => [words, ['at', moment(mark.at_ms)], ['UTC', utc(data.wall_start_ms, mark.at_ms)], ['here', local(data.wall_start_ms, mark.at_ms)]]);
  });
  return svg('g', {}, bands, marks);
}

/** The time of bursts between two heights, as one shape. */
export function veil(view, bursts, top, bottom) {
  const seen = bursts.filter((burst) => view.sees(burst.from_ms, burst.to_ms));
  const parts = seen.map((burst) => {
    const [x0, x1] = [view.clipped(burst.from_ms), view.clipped(burst.to_ms)];
    return `M${x0.toFixed(1)},${top}H${Math.max(x0 + 1, x1).toFixed(1)}V${bottom}H${x0.toFixed(1)}Z`;
  });
  return parts.length > 0 && svg('path', { class: 'veil', d: parts.join(''), 'aria-hidden': 'true' });
}

/** Intervals in which something could not be seen: a strip in the gap's row, and a shade over the lanes. */
export function gaps(view, box, data, height) {
  return svg('g', {}, data.gaps.filter((gap) => view.sees(gap.from_ms, gap.to_ms ?? view.range[1])).map((gap) => {
    const [x0, x1] = [view.clipped(gap.from_ms), view.clipped(gap.to_ms ?? view.range[1])];
    const width = Math.max(2, x1 - x0);
    return tip(svg('g', { class: `gap${gap.matters ? ' gap-matters' : ''}` },
      svg('rect', { class: 'shade', x: x0, y: box.y, width, height: Math.max(0, height - box.y) }),
      svg('rect', { class: 'strip', x: x0, y: box.y, width, height: 13 }),
      svg('text', { x: x0 + 4, y: box.y + 10 }, fitting(`not seen: ${gap.source}`, width - 6))),
    () => [`not seen: ${gap.source}`, ['from', moment(gap.from_ms)], ['to', gap.to_ms === null ? 'never again' : moment(gap.to_ms)],
      ['why', gap.reason], ['matters', gap.matters ? 'yes' : 'no']]);
  }));
}
