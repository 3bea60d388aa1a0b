// The long sections of a large page. The browser leaves their markup as text (`noscript`), so that the page opens
// without waiting for them; here they become elements piece by piece while the browser has nothing else to do, or at
// once when one of them is asked for. It is the page's own markup, which a browser without scripts reads by itself.

const ROWS_OF_A_PIECE = 8;
/** Time that must be left for a piece, ms. */
const PIECE_MS = 4;

const idle = globalThis.requestIdleCallback ?? ((go) => setTimeout(() => go({ timeRemaining: () => PIECE_MS + 1 }), 20));
const parsed = (markup) => new DOMParser().parseFromString(markup, 'text/html').body;

/** Puts elements in the place of their text, in short steps: some rows of a long table each, put in together. */
function* filled(place) {
  const markup = place.textContent;
  const [before, rows, after] = markup.startsWith('<table') ? markup.split(/(?<=<tbody>)|(?=<\/tbody>)/) : [markup, '', ''];
  const whole = parsed(before + after);
  const body = whole.querySelector('tbody');
  const each = rows === '' ? [] : rows.split(/(?=<tr id=)/);
  for (let i = 0; i < each.length; i += ROWS_OF_A_PIECE) {
    const more = parsed(`<table><tbody>${each.slice(i, i + ROWS_OF_A_PIECE).join('')}`);
    body.append(...more.querySelector('tbody').childNodes);
    yield;
  }
  place.replaceWith(...whole.childNodes);
  yield;
}

function* filledInTurn(places) {
  for (const place of places) {
    const section = place.closest('section');
    yield* filled(place);
    if (section.querySelector('.later')) continue;
    section.classList.remove('waiting');
    section.removeAttribute('aria-busy');
  }
}

/** The sections that are still text. */
export class Later {
  constructor() {
    const places = [...document.querySelectorAll('noscript.later')];
    for (const place of places) place.closest('section').setAttribute('aria-busy', 'true');
    this.steps = filledInTurn(places);
    this.whole = false;
  }

  /** Fills a little; whether there is more. */
  step() {
    if (this.whole) return false;
    this.whole = this.steps.next().done;
    if (this.whole) performance.mark('sections filled');
    return !this.whole;
  }

  /** Fills everything while the browser is idle. */
  start() {
    const go = (time) => {
      while (time.timeRemaining() > PIECE_MS) if (!this.step()) return;
      idle(go);
    };
    idle(go);
  }

  /** Fills everything now. */
  finish() { while (this.step()); }

  /** The element with an id, also from a section that was text until now. */
  find(id) {
    let element = document.getElementById(id);
    while (!element && this.step()) element = document.getElementById(id);
    return element;
  }
}
