// A headless Chromium that talks to nobody: the distribution's own, with a new profile each time.

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser'];

/** The browser's program: `$CHROMIUM`, or where distributions put it. */
export function program() {
  const found = [process.env.CHROMIUM, ...PLACES].find((path) => path && existsSync(path));
  if (!found) throw new Error(`no Chromium in ${PLACES.join(', ')}; install the package chromium or name the program in CHROMIUM`);
  return found;
}

/** Starts it. */
export const launch = () => chromium.launch({ executablePath: program(), args: FLAGS });
