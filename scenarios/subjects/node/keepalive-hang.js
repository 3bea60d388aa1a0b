'use strict';
// Closes its listener and its idle connections, but never says `Connection: close`: clients that keep asking on their
// connections keep it alive.

const { setTimeout: sleep } = require('node:timers/promises');
const { Service, settings } = require('./base/service');
const { onStopSignal } = require('./base/signal');

const app = new Service();
onStopSignal(app, async () => {
  app.isReady = () => false;
  app.log('readiness_off');
  await sleep(settings.drainDelayMs);
  app.server.close(async () => {
    app.log('drained', { cut: 0 });
    await app.pool.end();
    app.log('pool_closed');
    app.exit(0);
  });
  app.closeIdle();
  app.log('listener_closed');
});
app.listen();
