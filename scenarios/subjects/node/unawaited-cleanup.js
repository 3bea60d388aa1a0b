'use strict';
// Begins an asynchronous cleanup, does not wait for it, and exits: what is in flight is cut, and what the cleanup was
// to save is lost.

const { setImmediate: nextTurn } = require('node:timers/promises');
const { Service } = require('./base/service');
const { onStopSignal } = require('./base/signal');

const app = new Service();

async function cleanup() {
  app.isReady = () => false;
  app.log('readiness_off');
  await nextTurn();
  // Never reached.
  app.server.close();
  app.jobs.stop();
  await app.jobs.finished();
  await app.pool.end();
  app.log('pool_closed');
}

onStopSignal(app, () => {
  cleanup();
  app.exit(0);
});
app.listen();
