'use strict';
// Closes its listener at the signal, while traffic is still routed to it, and waits for what it has.

const { Service } = require('./base/service');
const { onStopSignal } = require('./base/signal');

const app = new Service();
onStopSignal(app, () => {
  app.isReady = () => false;
  app.sayClose();
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
