// Times and numbers as people read them. Everything inside is milliseconds of the run.

/** A moment in run seconds. */
export const moment = (ms) => `${(ms / 1e3).toFixed(3)} s`;

/** An interval in run seconds; a moment where both ends print the same. */
export function interval([lo, hi]) {
  const [from, to] = [(lo / 1e3).toFixed(3), (hi / 1e3).toFixed(3)];
  return from === to ? `${from} s` : `${from}–${to} s`;
}

/** A length of time in the unit that suits it. */
export function length(ms) {
  const size = Math.abs(ms);
  if (size === 0) return '0 ms';
  if (size < 10) return `${ms.toFixed(2)} ms`;
  if (size < 100) return `${ms.toFixed(1)} ms`;
  if (size < 1e3) return `${ms.toFixed(0)} ms`;
  return size < 1e5 ? `${(ms / 1e3).toFixed(2)} s` : `${(ms / 1e3).toFixed(0)} s`;
}

/** The wall clock of a moment, in UTC. */
export function utc(wallStart, ms) {
  const date = new Date(wallStart + ms);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().replace('T', ' ').replace('Z', ' UTC');
}

/** The wall clock of a moment, where the reader is. */
export function local(wallStart, ms) {
  const date = new Date(wallStart + ms);
  if (Number.isNaN(date.getTime())) return '';
  const part = (n, width) => String(n).padStart(width, '0');
  return `${part(date.getHours(), 2)}:${part(date.getMinutes(), 2)}:${part(date.getSeconds(), 2)}.${part(date.getMilliseconds(), 3)} local`;
}

/** The clocks that an axis can be labelled with: name, words. */
export const CLOCKS = [['run', 'run seconds'], ['local', 'local time'], ['utc', 'UTC']];

/** A tick's label on a clock; run seconds have the digits that their step needs. */
export function clockLabel(clock, wallStart, { ms, label }) {
  if (clock === 'utc') return utc(wallStart, ms).slice(11, 23);
  return clock === 'local' ? local(wallStart, ms).slice(0, 12) : `${label} s`;
}

/** A round step of at least `least`: 1, 2 or 5 times a power of ten. */
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least * 0.999999);
}

/** Round moments between two moments, no more than `most`, with their labels in seconds. */
export function ticks(from, to, most) {
  const step = roundStep((to - from) / Math.max(most, 1));
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / 1e3) - 1e-9)));
  const found = [];
  for (let n = Math.ceil(from / step); n * step <= to; n += 1) {
    found.push({ ms: n * step, label: `${((n * step) / 1e3).toFixed(digits)}` });
  }
  return found;
}

/** A count with its thousands apart. */
export const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',');
