// Exact values beside the pointer or the focused mark.

import { el } from './dom.js';

const contents = new WeakMap();

/** Gives an element its tooltip: a function of the moment under the pointer to `[title, [label, value]...]`. */
export function tip(element, content) {
  contents.set(element, content);
  element.dataset.tip = '';
  return element;
}

/** The tooltip of everything inside `root`. */
export class Tooltip {
  constructor(root, momentAt) {
    this.box = el('div', { class: 'tooltip', role: 'tooltip', hidden: true });
    document.body.append(this.box);
    root.addEventListener('pointermove', (event) => {
      const marked = event.target.closest('[data-tip]');
      const content = marked && event.buttons === 0 && contents.get(marked)?.(momentAt(event.clientX));
      if (content) this.show(content, event.clientX, event.clientY);
      else this.hide();
    });
    for (const gone of ['pointerleave', 'pointerdown', 'wheel', 'focusout']) root.addEventListener(gone, () => this.hide(), { passive: true });
    root.addEventListener('focusin', (event) => {
      const content = event.target.matches(':focus-visible') && contents.get(event.target)?.(null);
      if (!content) return;
      const place = event.target.getBoundingClientRect();
      this.show(content, Math.max(0, place.left), place.bottom);
    });
    document.addEventListener('keydown', (event) => { if (event.key === 'Escape') this.hide(); });
  }

  show([title, ...rows], x, y) {
    this.box.replaceChildren(
      el('strong', {}, title),
      el('dl', {}, rows.filter(Boolean).map(([label, value]) => el('div', {}, el('dt', {}, label), el('dd', {}, value)))),
    );
    this.box.hidden = false;
    const { width, height } = this.box.getBoundingClientRect();
    const [right, bottom] = [document.documentElement.clientWidth, window.innerHeight];
    this.box.style.left = `${Math.max(4, x + 14 + width > right ? x - width - 10 : x + 14)}px`;
    this.box.style.top = `${Math.max(4, y + 14 + height > bottom ? y - height - 10 : y + 14)}px`;
  }

  hide() { this.box.hidden = true; }
}
