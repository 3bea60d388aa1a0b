'use strict';
// Drains as it should and never ends its pool. The pool's connections keep the process alive, so that the kubelet has
// to kill it, and stay open at the database until then.

const { setTimeout: sleep } = require('node:timers/promises');
const { Service, settings } = require('./base/service');
const { onStopSignal } = require('./base/signal');

const app = new Service();
onStopSignal(app, async () => {
  app.isReady = () => false;
  app.sayClose();
  app.log('readiness_off');
  await sleep(settings.drainDelayMs);
  app.server.close(() => app.log('drained', { cut: 0 }));
  app.closeIdle();
  app.log('listener_closed');
  // With nothing left to do the process would end by itself, had it closed its pool.
});
app.listen();
