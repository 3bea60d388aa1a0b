// One lane a pod: phases, what happened at its end, endpoint membership, log marks, and each failed request.

import { pressable, svg } from './dom.js';
import { interval, length, local, moment, utc } from './time.js';
import { shape } from './series.js';
import { wholeRequest } from './data.js';
import { fitting } from './bands.js';
import { tip } from './tooltip.js';

const PHASE_WORDS = {
  pending: 'pending', starting: 'starting', not_ready: 'not ready', ready: 'ready', terminating: 'terminating', ended: 'ended',
};
const REQUEST_ROW = 6;

/** The heights of a pod's rows, from the lane's top. */
export function laneLayout(pod, narrow) {
  let y = narrow ? 17 : 2;
  const take = (height) => { y += height; return y - height; };
  const marks = take(pod.deletion_requested_ms || pod.exit ? 13 : 0);
  const phases = take(17);
  const endpoint = take(9);
  const logs = take(pod.log_marks.length > 0 ? 9 : 0);
  const requests = take(pod.requests.length > 0 ? pod.requestRows * REQUEST_ROW + 4 : 0);
  return { marks, phases, endpoint, logs, requests, height: Math.max(y + 7, 38) };
}

/** What a lane shows of its pod. */
export function podLane(view, top, layout, pod, data, options) {
  const group = svg('g', { class: `lane ${pod.old ? 'lane-old' : 'lane-new'}` });
  group.append(
    laneBack(view, top, layout.height),
    phases(view, top + layout.phases, pod, data),
    endpoint(view, top + layout.endpoint, pod),
    logs(view, top + layout.logs, pod),
    endMarks(view, top, layout, pod, data),
    failures(view, top + layout.requests, pod.requests, pod.requestRows, data, options),
  );
  return group;
}

/** The lane of failed requests that nothing ties to one pod. */
export function unplacedLane(view, top, data, options) {
  const title = 'not tied to a pod';
  return svg('g', { class: 'lane' },
    laneBack(view, top, unplacedHeight(data, options.narrow)),
    svg('text', { class: 'lane-name', x: options.narrow ? 6 : 8, y: top + 14 }, title),
    svg('text', { class: 'lane-note', x: options.narrow ? title.length * 7 + 14 : 8, y: top + (options.narrow ? 14 : 28) }, `${data.unplaced.length} failed`),
    failures(view, top + (options.narrow ? 20 : 4), data.unplaced, data.unplacedRows, data, options));
}

/** The height of that lane. */
export const unplacedHeight = (data, narrow) => data.unplacedRows * REQUEST_ROW + (narrow ? 28 : 20);

/** The lane of the jobs of which there is something to tell: from its acceptance on, what happened to each. */
export function jobsLane(view, top, data, { narrow }) {
  const { jobs } = data;
  const words = `${jobs.accepted} accepted, ${jobs.lost} lost, ${jobs.done_twice} twice`;
  const y = top + (narrow ? 20 : 4);
  return svg('g', { class: 'lane lane-jobs' },
    laneBack(view, top, jobsHeight(data, narrow)),
    svg('text', { class: 'lane-name', x: narrow ? 6 : 8, y: top + 14 }, 'jobs'),
    svg('text', { class: 'lane-note', x: narrow ? 44 : 8, y: top + (narrow ? 14 : 28) }, words),
    jobs.told.map((job, i) => jobMarks(view, y + (i % jobRows(data)) * JOB_ROW, job)));
}

const JOB_ROW = 8;
const MOST_JOB_ROWS = 12;
const jobRows = (data) => Math.max(3, Math.min(MOST_JOB_ROWS, data.jobs.told.length));

/** The height of that lane; 0 without jobs. */
export const jobsHeight = (data, narrow) => (data.jobs ? jobRows(data) * JOB_ROW + (narrow ? 28 : 14) : 0);

function jobMarks(view, y, job) {
  const moments = job.events.map((event) => event.at_ms);
  const from = job.accepted_ms ?? moments[0];
  const to = job.state === 'lost' ? view.range[1] : moments.at(-1) ?? from;
  if (from === undefined || !view.sees(from, to)) return svg('g', {});
  const [x0, x1] = [view.clipped(from), view.clipped(to)];
  const group = svg('g', { class: `job job-${job.state}` },
    svg('line', { x1: x0, x2: Math.max(x0 + 2, x1), y1: y + 3, y2: y + 3 }),
    job.events.filter((event) => view.sees(event.at_ms, event.at_ms)).map((event) =>
      svg('circle', { class: `job-${event.event}`, cx: view.x(event.at_ms), cy: y + 3, r: 2.6 })),
    svg('rect', { class: 'hit', x: x0 - 3, y: y - 1, width: Math.max(8, x1 - x0 + 6), height: 8 }));
  return tip(group, () => [`job ${job.job}: ${job.state.replace('_', ' ')}`,
    job.accepted_ms !== null && ['accepted', moment(job.accepted_ms)],
    ...job.events.map((event) => [event.event.replace('_', ' '), `${moment(event.at_ms)}${event.by ? ` by ${event.by}` : ''}`])]);
}

function laneBack(view, top, height) {
  return svg('g', { 'aria-hidden': 'true' },
    svg('line', { class: 'lane-edge', x1: 0, x2: view.right, y1: top + height - 0.5, y2: top + height - 0.5 }));
}

/** The pod's name beside its lane, which a zoom leaves as it is. */
export function laneLabel(view, top, pod, { narrow, select, gutter }) {
  const width = narrow ? view.right : gutter - 14;
  const note = `${pod.old ? '○ old' : '● new'}${narrow ? '' : `  ${fitting(pod.template_hash, 90)}`}`;
  const failed = pod.failed > 0 && `${pod.failed} failed`;
  const noteWidth = narrow ? (note.length + (failed ? failed.length + 2 : 0)) * 6.4 + 12 : 0;
  const name = shortened(pod.name, Math.floor((width - noteWidth) / 7.3));
  const group = svg('g', { class: 'lane-label' },
    svg('rect', { class: 'hit', x: 0, y: top, width, height: narrow ? 16 : 34 }),
    svg('text', { class: 'lane-name', x: narrow ? 6 : 8, y: top + 13 }, name),
    svg('text', { class: 'lane-note', x: narrow ? view.right - 4 : 8, y: top + (narrow ? 13 : 28), 'text-anchor': narrow ? 'end' : 'start' },
      note, failed && svg('tspan', { class: 'bad' }, `  ${failed}`)));
  pressable(group, `pod-${pod.index}`, `${group.textContent}: pod ${pod.name}, ${pod.old ? 'old' : 'new'} template, ${pod.failed} failed requests`, () => select(`pod-${pod.index}`));
  return tip(group, () => [pod.name, ['template', `${pod.old ? 'old' : 'new'} ${pod.template_hash}`], ['failed', pod.failed], ['served', pod.served],
    pod.propagation_lag_ms !== null && ['propagation lag', length(pod.propagation_lag_ms)],
    pod.margin_to_deadline_ms !== null && ['margin to the deadline', length(pod.margin_to_deadline_ms)]]);
}

/** A name with its middle left out, since pods differ at their ends. */
function shortened(name, characters) {
  if (name.length <= characters) return name;
  const tail = Math.floor(characters * 0.6);
  return `${name.slice(0, Math.max(1, characters - tail - 1))}…${name.slice(-tail)}`;
}

function phases(view, y, pod) {
  const seen = pod.phases.filter((phase) => phase.phase !== 'ended' && view.sees(phase.from_ms, phase.to_ms ?? view.range[1]));
  return svg('g', {}, seen.map((phase) => {
    const to = phase.to_ms ?? view.range[1];
    const [x0, x1] = [view.clipped(phase.from_ms), view.clipped(to)];
    const words = PHASE_WORDS[phase.phase] ?? phase.phase;
    return tip(svg('g', { class: `phase phase-${phase.phase}` },
      svg('rect', { x: x0, y, width: Math.max(1, x1 - x0), height: 15 }),
      svg('text', { x: x0 + 5, y: y + 11.5 }, fitting(words, x1 - x0 - 8))),
    () => [`${words} · ${pod.name}`, ['from', moment(phase.from_ms)], ['to', phase.to_ms === null ? 'it lasts' : moment(phase.to_ms)],
      ['for', length(to - phase.from_ms)]]);
  }));
}

function endpointState(state) {
  if (state.ready) return ['ready', 6];
  if (state.serving) return [state.terminating ? 'serving, terminating' : 'serving, not ready', 4];
  return [state.terminating ? 'terminating, not serving' : 'not ready', 2];
}

function endpoint(view, y, pod) {
  const seen = pod.endpoint.filter((state) => view.sees(state.from_ms, state.to_ms ?? view.range[1]));
  return svg('g', {}, seen.map((state) => {
    const [words, height] = endpointState(state);
    const [x0, x1] = [view.clipped(state.from_ms), view.clipped(state.to_ms ?? view.range[1])];
    return tip(svg('g', { class: `endpoint endpoint-${height}` },
      svg('rect', { class: 'hit', x: x0, y, width: Math.max(2, x1 - x0), height: 8 }),
      svg('rect', { x: x0, y: y + 1, width: Math.max(1, x1 - x0), height })),
    () => [`endpoint: ${words}`, ['from', moment(state.from_ms)], ['to', state.to_ms === null ? 'it lasts' : moment(state.to_ms)],
      ['conditions', `ready ${state.ready}, serving ${state.serving}, terminating ${state.terminating}`]]);
  }));
}

function logs(view, y, pod) {
  return svg('g', {}, pod.log_marks.filter((mark) => view.sees(mark.at_ms, mark.at_ms)).map((mark) => {
    const x = view.x(mark.at_ms);
    return tip(svg('path', { class: 'log-mark', d: `M${x},${y}L${x + 4},${y + 7}H${x - 4}Z` }),
      () => [`log: ${mark.mark}`, ['at', moment(mark.at_ms)], ['line', mark.line]]);
  }));
}

/** The moments of a pod's end as `[name, label, interval, tooltip rows]`, the ones that matter most first. */
function moments(pod) {
  const at = (ms) => [ms, ms];
  return [
    pod.exit && ['exit', `exit ${pod.exit.code}${pod.exit.code === 0 ? '' : ` ${pod.exit.reason}`}`, pod.exit.at_ms, ['reason', pod.exit.reason]],
    pod.signal_ms && ['signal', 'signal', pod.signal_ms],
    pod.deadline_ms && ['deadline', 'deadline', pod.deadline_ms, ['grace', `${pod.grace_seconds} s`]],
    pod.deletion_requested_ms && ['deletion', 'deletion', pod.deletion_requested_ms, pod.pre_stop && ['preStop', pod.pre_stop]],
    pod.listener_closed_ms !== null && ['listener', 'listener closed', at(pod.listener_closed_ms)],
    pod.first_drain_sign && ['drain', 'drain', pod.first_drain_sign.at_ms, ['sign', `${pod.first_drain_sign.kind}: ${pod.first_drain_sign.what}`]],
    pod.last_new_connection_ms !== null && ['last-new', 'last new connection', at(pod.last_new_connection_ms),
      pod.propagation_lag_ms !== null && ['propagation lag', length(pod.propagation_lag_ms)]],
    ...pod.earlier_exits.map((exit) => ['exit', `exit ${exit.code} ${exit.reason}, restarted`, exit.at_ms, ['reason', exit.reason]]),
  ].filter(Boolean);
}

function endMarks(view, top, layout, pod, data) {
  const taken = [];
  return svg('g', {}, moments(pod).filter(([, , [lo, hi]]) => view.sees(lo, hi)).map(([name, words, at, more]) => {
    const [x0, x1] = [view.clipped(at[0]), view.clipped(at[1])];
    const room = place(taken, x0, x1, words.length * 5.8 + 7, view);
    const y = top + layout.phases;
    return tip(svg('g', { class: `end end-${name}${name === 'exit' && pod.exit?.code !== 0 ? ' end-bad' : ''}` },
      svg('rect', { class: 'uncertain', x: x0, y: y - 1, width: Math.max(1.5, x1 - x0), height: 17 }),
      svg('path', { class: 'edge', d: `M${x0},${y - 5}V${y + 16}M${x1},${y - 5}V${y + 16}` }),
      svg('rect', { class: 'hit', x: x0 - 4, y: y - 12, width: x1 - x0 + 8, height: 28 }),
      room && svg('text', { x: room.x, y: top + layout.marks + 9, 'text-anchor': room.anchor }, words)),
    () => [`${words} · ${pod.name}`, [at[0] === at[1] ? 'at' : 'between', interval(at)],
      at[0] !== at[1] && ['known to', `±${length((at[1] - at[0]) / 2)}`], more,
      ['UTC', utc(data.wall_start_ms, at[0])], ['here', local(data.wall_start_ms, at[0])]]);
  }));
}

/** Room for a label right or left of a mark, where no earlier label stands. */
function place(taken, x0, x1, width, view) {
  const spots = [[x0, x0 + width, 'start', x0 + 3], [x1 - width, x1, 'end', x1 - 4]];
  for (const [from, to, anchor, x] of spots) {
    if (from < view.left || to > view.right || taken.some(([a, b]) => from < b && to > a)) continue;
    taken.push([from, to]);
    return { anchor, x };
  }
  return null;
}

/** Everything that is known of a request, as rows of name and value. */
export function requestRows(mark, data) {
  const request = wholeRequest(mark);
  const since = (ms) => (ms === null ? null : `${moment(ms)} (+${length(ms - request.scheduled)})`);
  const optional = (name, value) => value !== null && [name, value];
  return [
    ['due', moment(request.scheduled)], optional('sent', since(request.dispatched)), optional('connected', since(request.connected)),
    optional('written', since(request.written)), optional('first byte', since(request.first_byte)), optional('ended', since(request.ended)),
    ['UTC', utc(data.wall_start_ms, request.scheduled)], ['here', local(data.wall_start_ms, request.scheduled)],
    ['lane', `${request.lane}${request.reused ? ', reused connection' : ''}`], ['request', request.name],
    ['phase', request.phase], optional('status', request.status), optional('errno', request.errno),
    optional('connection', request.connection === null ? null : `#${request.connection}, ${request.ordinal ?? 0} requests before`),
    optional('its age', request.connection_age === null ? null : length(request.connection_age)),
    optional('idle before', request.idle === null ? null : length(request.idle)),
    optional('from port', request.local_port), optional('to', request.peer), optional('emitted by', request.emitted_by),
    ['bytes', `${request.bytes_sent} sent, ${request.bytes_received} received`],
    request.close !== 0 && ['Connection: close', ['', 'asked', 'answered', 'asked and answered'][request.close]],
    request.maskable && ['maskable', 'a client that silently re-sends would have hidden it'],
    ['pod', request.podIndex === null ? request.basis : `${data.pods[request.podIndex].name}: ${request.basis}`],
    optional('burst', request.burst === null ? null : `#${request.burst}`),
  ];
}

function failures(view, y, requests, rows, data, { filters, crowded, select }) {
  const seen = requests.filter((request) => view.sees(request.from, request.to) && filters.shows(request));
  if (seen.length > crowded) return crowd(view, y, rows, seen);
  const ends = new Array(rows).fill(-Infinity);
  return svg('g', {}, seen.map((request) => {
    const [x0, x1] = [view.clipped(request.from), view.clipped(request.to)];
    let row = ends.findIndex((end) => end < x0 - 5);
    if (row < 0) row = ends.indexOf(Math.min(...ends));
    ends[row] = Math.max(ends[row], x1 + 5);
    const middle = y + row * REQUEST_ROW + 5;
    const group = svg('g', { class: `request request-${request.series}` },
      x1 - x0 > 2 && svg('line', { x1: x0, x2: x1, y1: middle, y2: middle }),
      request.to <= view.to && shape(request.series, x1, middle, 3.4),
      svg('rect', { class: 'hit', x: x0 - 4, y: middle - 4, width: x1 - x0 + 8, height: 8 }));
    group.addEventListener('click', () => select(`request-${request.seq}`));
    group.dataset.key = `request-${request.seq}`;
    return tip(group, () => [`slot ${request.seq}: ${wholeRequest(request).outcome}`, ...requestRows(request, data)]);
  }));
}

/** Too many to tell apart at this zoom: one mark for those that share a few pixels, with their count. */
function crowd(view, y, rows, requests) {
  const cells = new Map();
  for (const request of requests) {
    const key = `${Math.round(view.clipped(request.to) / 8)} ${request.series}`;
    let cell = cells.get(key);
    if (!cell) cells.set(key, cell = { count: 0, from: Infinity, to: -Infinity });
    cell.count += 1;
    cell.from = Math.min(cell.from, request.from);
    cell.to = Math.max(cell.to, request.to);
  }
  const order = ['connect', 'cut', 'truncated', 'status', 'other'];
  return svg('g', {}, [...cells.entries()].map(([key, cell]) => {
    const [column, series] = key.split(' ');
    const middle = y + Math.min(order.indexOf(series), rows - 1) * REQUEST_ROW + 5;
    return tip(svg('g', { class: `request request-${series}` }, shape(series, Number(column) * 8, middle, 3.6)),
      () => [`${cell.count} × ${series}: zoom in to tell them apart`, ['from', moment(cell.from)], ['to', moment(cell.to)]]);
  }));
}
