// Joins the timeline, the panel, the page's links and the address.

import { readData } from './data.js';
import { Later } from './later.js';
import { View } from './view.js';
import { Filters } from './filters.js';
import { Panel } from './panel.js';
import { Timeline } from './timeline.js';

const data = readData();
const view = new View(data.range_ms);
const filters = new Filters();
const later = new Later();
const panel = new Panel(data, select, later);
const timeline = new Timeline(document.getElementById('chart'), data, view, filters, select);
let opener = null;

/** Selects a burst, a pod or a request by its key; `null` selects nothing. */
function select(key, focus = true) {
  const had = panel.box.contains(document.activeElement);
  if (key !== null && !had) opener = document.activeElement;
  timeline.selected = panel.show(key, focus) ? key : null;
  timeline.measure();
  timeline.drawNow();
  timeline.reveal(timeline.selected);
  if (key === null && had) giveBackFocus();
  remember();
}

/** Back to what opened the panel, which may have been drawn anew since. */
function giveBackFocus() {
  const again = opener?.dataset?.key && timeline.marked(opener.dataset.key);
  (again || opener)?.focus?.({ preventScroll: true });
}

/** What is shown, in the address: `#t=12.300_15.800&sel=burst-1&pods=ended`. */
function remember() {
  const parts = new URLSearchParams();
  if (!view.whole) parts.set('t', `${(view.from / 1e3).toFixed(3)}_${(view.to / 1e3).toFixed(3)}`);
  if (timeline.selected) parts.set('sel', timeline.selected);
  for (const [name, value] of filters.parts()) parts.set(name, value);
  const fragment = parts.size > 0 ? `#${parts}` : location.pathname + location.search;
  try { history.replaceState(null, '', fragment); } catch { /* Some viewers forbid it for local files. */ }
}

/** Shows what the address says; a fragment without a value is a place in the page and says nothing of it. */
function recall() {
  if (location.hash !== '' && !location.hash.includes('=')) {
    const id = location.hash.slice(1);
    if (!document.getElementById(id)) later.find(id)?.scrollIntoView();
    return;
  }
  const wanted = new URLSearchParams(location.hash.slice(1));
  filters.recall(wanted, data.series);
  const span = wanted.get('t')?.split('_').map((seconds) => Number(seconds) * 1e3);
  if (span?.length === 2 && span.every(Number.isFinite) && span[0] < span[1]) view.show(...span);
  else view.reset();
  if (wanted.get('sel') !== timeline.selected) select(wanted.get('sel'), false);
  timeline.draw();
}

let remembering = 0;
recall();
view.changed = () => {
  timeline.draw();
  clearTimeout(remembering);
  remembering = setTimeout(remember, 250);
};
filters.changed = view.changed;
window.addEventListener('hashchange', recall);

document.addEventListener('click', (event) => {
  const link = event.target.closest('[data-from], [data-select]');
  if (!link) return;
  event.preventDefault();
  if (link.dataset.select) {
    select(link.dataset.select);
    return;
  }
  document.getElementById('timeline').scrollIntoView({ block: 'start' });
  view.show(Number(link.dataset.from) * 1e3, Number(link.dataset.to) * 1e3);
});

for (const [kind, open] of [['beforeprint', true], ['afterprint', false]]) {
  window.addEventListener(kind, () => {
    later.finish();
    for (const details of document.querySelectorAll('main details:not(.kept)')) if (!open === details.open) details.open = open;
    timeline.printing = open;
    timeline.measure();
    timeline.drawNow();
  });
}
timeline.drawNow();
performance.mark('timeline drawn');
later.start();
