// The raw records under the report: watch events with their objects, log lines, requests.

/** How far from a moment a record may lie and still be shown with it, ms. */
export const AROUND_MS = 50;

/** JSON Merge Patch (RFC 7396). */
function patched(target, patch) {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
  const out = target !== null && typeof target === 'object' && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete out[name];
    else out[name] = patched(Object.hasOwn(out, name) ? out[name] : undefined, value);
  }
  return out;
}

/** A pod's watch events as `{ at, what, text, raw }`; `raw` is undefined where the page has no object. */
export function watchEvents(data, pod) {
  const { texts, pods } = data.watch;
  const track = pods[pod.index];
  track.events ??= track.rows.map(([at, what, text, raw]) => ({ at, what: texts[what], text: texts[text], raw }));
  return track.events;
}

/** The whole object of a pod's watch event. */
export function watchObject(data, pod, event) {
  const { bases } = data.watch;
  const last = {};
  for (const candidate of watchEvents(data, pod)) {
    if (!candidate.raw) continue;
    const [kind, from, value] = candidate.raw;
    last[kind] = [value, patched(bases[kind], value), patched(last[kind], value)][from];
    if (candidate === event) return last[kind];
  }
  return undefined;
}

/** A pod's log lines as `{ at, container, timestamp, line }`. */
export function logLines(data, pod) {
  return data.logs[pod.index].lines.map(([at, container, timestamp, line]) => ({ at, container, timestamp, line }));
}

/**
 * The watch events that tell of `[from, to]`: those within it or close to it, the last of the pod's own states before
 * it and the first two after it, since what has happened is told by the next state that is seen.
 */
export function telling(events, [from, to]) {
  const own = events.filter((event) => event.what.startsWith('pod '));
  const before = own.filter(({ at }) => at < from - AROUND_MS).slice(-1);
  const after = own.filter(({ at }) => at > to + AROUND_MS).slice(0, 2);
  return [...before, ...close(events, [from, to]), ...after];
}

/** What of `records` lies within, or close to, `[from, to]`. */
export const close = (records, [from, to]) => records.filter(({ at }) => at >= from - AROUND_MS && at <= to + AROUND_MS);

/** Requests that were under way within, or close to, `[from, to]`. */
export const underWay = (requests, [from, to]) => requests.filter((request) => request.to >= from - AROUND_MS && request.from <= to + AROUND_MS);
