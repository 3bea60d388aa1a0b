// The data that the page carries, read once.

const TEXTS = ['lane', 'name', 'peer', 'outcome', 'phase', 'pod', 'emitted_by', 'basis'];
const AFTER_DUE = ['dispatched', 'connected', 'written', 'first_byte', 'ended'];
const LENGTHS = ['connection_age', 'idle'];
const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';
const MOST_ROWS_OF_A_LANE = 10;

const embedded = (id) => JSON.parse(document.getElementById(id).textContent);

/** A function whose result is made when it is asked for, once. */
function once(make) {
  let made = null;
  return () => (made ??= make());
}

/** Reads the embedded JSON; request rows become objects. What only panels and tooltips need is read when they do. */
export function readData() {
  const data = embedded('data');
  const records = once(() => embedded('records'));
  data.failed = new RequestTable(data.failed, data.series, () => records().failed).marks();
  const near = once(() => new RequestTable(records().near, data.series).marks());
  for (const name of ['watch', 'logs']) Object.defineProperty(data, name, { get: () => records()[name] });
  Object.defineProperty(data, 'near', { get: near });
  data.pods.forEach((pod, index) => Object.assign(pod, { index, requests: [] }));
  data.unplaced = [];
  const bursts = new Map(data.bursts.map((burst) => [burst.id, Object.assign(burst, { requests: [] })]));
  for (const request of data.failed) {
    (data.pods[request.podIndex]?.requests ?? data.unplaced).push(request);
    bursts.get(request.burst)?.requests.push(request);
  }
  for (const pod of data.pods) pod.requestRows = rowsFor(pod.requests);
  data.unplacedRows = rowsFor(data.unplaced);
  return data;
}

/** Rows in which a lane's requests can lie side by side: as many as overlap at once, within reason. */
function rowsFor(requests) {
  const ends = [];
  for (const request of requests) {
    const free = ends.findIndex((end) => end < request.from);
    if (free >= 0) ends[free] = request.to;
    else if (ends.push(request.to) === MOST_ROWS_OF_A_LANE) break;
  }
  return Math.max(3, ends.length);
}

/** Request rows in columns; a row becomes an object when it is asked for. */
class RequestTable {
  /** `others` gives the columns that the drawing does not need. */
  constructor({ count, columns, texts }, series, others = () => ({})) {
    Object.assign(this, { count, texts, seriesNames: series.map(([name]) => name), columns: readColumns(columns, count) });
    this.all = once(() => ({ ...this.columns, ...readColumns(others(), count) }));
  }

  /** What the drawing needs of every row. Times are milliseconds of the run. */
  marks() {
    const { seq, scheduled, dispatched, ended, series, place, burst, lane } = this.columns;
    return Array.from({ length: this.count }, (_, row) => {
      const due = scheduled[row] / 1e3;
      const from = Number.isNaN(dispatched[row]) ? due : (scheduled[row] + dispatched[row]) / 1e3;
      return {
        table: this, row, seq: seq[row], scheduled: due, from,
        to: Number.isNaN(ended[row]) ? from : (scheduled[row] + ended[row]) / 1e3,
        series: this.seriesNames[series[row]], lane: this.texts[lane[row]],
        podIndex: Number.isNaN(place[row]) ? null : place[row], burst: Number.isNaN(burst[row]) ? null : burst[row],
      };
    });
  }

  /** Everything that was recorded of a row. */
  whole(mark) {
    const request = { ...mark };
    for (const [name, column] of Object.entries(this.all())) {
      if (['seq', 'scheduled', 'series', 'place', 'burst'].includes(name)) continue;
      const value = column[mark.row];
      if (Number.isNaN(value)) request[name] = null;
      else if (TEXTS.includes(name)) request[name] = this.texts[value];
      else if (AFTER_DUE.includes(name)) request[name] = (this.columns.scheduled[mark.row] + value) / 1e3;
      else request[name] = LENGTHS.includes(name) ? value / 1e3 : value;
    }
    return request;
  }
}

/** Everything that was recorded of a request. */
export const wholeRequest = (mark) => mark.table.whole(mark);

const readColumns = (columns, count) => Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, readColumn(column, count)]));

/** A column's numbers; NaN for none. The forms are described where the page is made. */
function readColumn(column, count) {
  const numbers = new Float64Array(count);
  if (column.steps) {
    let last = 0;
    for (let i = 0; i < count; i += 1) { last += column.steps[i]; numbers[i] = last; }
  } else if (column.digits) {
    for (let i = 0; i < count; i += 1) { const digit = DIGITS.indexOf(column.digits[i]); numbers[i] = digit < 0 ? NaN : digit; }
  } else if (column.each) {
    for (let i = 0; i < count; i += 1) { const n = column.each[i]; numbers[i] = n === 0 ? NaN : n > 0 ? n - 1 : n; }
  } else numbers.fill(column.all ?? NaN);
  return numbers;
}

/** The level of bins that suits a span: the finest whose bins are at least `least` pixels wide. */
export function suitingLevel(levels, msPerPixel, least = 3) {
  return levels.find((level) => level.width_ms / msPerPixel >= least) ?? levels.at(-1);
}

/** The bins of a level that touch a span, with their index. */
export function binsBetween(level, from, to) {
  const first = Math.max(0, Math.floor((from - level.from_ms) / level.width_ms));
  const last = Math.min(level.bins - 1, Math.floor((to - level.from_ms) / level.width_ms));
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
}
