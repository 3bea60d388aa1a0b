// The data that the page carries, read once.

/** Reads the embedded JSON; failed requests become objects. */
export function readData() {
  const data = JSON.parse(document.getElementById('data').textContent);
  data.failed = failedRequests(data.failed, data.series);
  data.pods.forEach((pod, index) => {
    pod.index = index;
    pod.requests = data.failed.filter((request) => request.podIndex === index);
  });
  for (const pod of data.pods) pod.requestRows = rowsFor(pod.requests);
  data.unplaced = data.failed.filter((request) => request.podIndex === null);
  data.unplacedRows = rowsFor(data.unplaced);
  for (const burst of data.bursts) burst.requests = data.failed.filter((request) => request.burst === burst.id);
  return data;
}

/** Rows in which a lane's requests can lie side by side: as many as overlap at once, within reason. */
function rowsFor(requests) {
  const edges = requests.flatMap((request) => [[request.from, 1], [request.to, -1]]).sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  let [open, most] = [0, 0];
  for (const [, step] of edges) { open += step; most = Math.max(most, open); }
  return Math.min(10, Math.max(3, most));
}

function failedRequests({ columns, rows, texts }, series) {
  const text = (index) => (index === null ? null : texts[index]);
  return rows.map((row) => {
    const request = Object.fromEntries(columns.map((column, i) => [column, row[i]]));
    for (const column of ['lane', 'name', 'peer', 'phase', 'pod', 'emitted_by']) request[column] = text(request[column]);
    const [outcome, seriesIndex] = request.outcome;
    const [podIndex, basis] = request.place;
    return {
      ...request,
      outcome: text(outcome),
      series: series[seriesIndex][0],
      podIndex,
      basis: text(basis),
      from: request.dispatched ?? request.scheduled,
      to: request.ended ?? request.dispatched ?? request.scheduled,
    };
  });
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
