'use strict';
// `/leak` keeps memory, piece by piece, until the container's memory limit ends the process; so does LEAK_AFTER_MS after
// its start. A rollout has no part in it.

const { setImmediate: nextTurn } = require('node:timers/promises');
const { Service } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');
const { millis } = require('./base/settings');

const PIECE = 8 << 20;
/** Where there is no limit after all. */
const MOST_PIECES = 64;

const app = new Service();
const kept = [];

async function leak() {
  while (kept.length < MOST_PIECES) {
    kept.push(Buffer.alloc(PIECE, 1));
    await nextTurn();
  }
}

app.more = (request, url) => {
  if (url.pathname !== '/leak') return false;
  leak();
  return true;
};
const after = millis('LEAK_AFTER_MS');
if (after !== undefined) setTimeout(leak, after).unref();
shutDownGracefully(app);
app.listen();
