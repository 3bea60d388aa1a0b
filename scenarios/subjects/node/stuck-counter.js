'use strict';
// Counts a request as over when its response emits `finish`. A request that its client gave up emits `close` alone, so
// it counts for ever, and the drain waits for nothing until its deadline.

const { setTimeout: sleep } = require('node:timers/promises');
const { Service, settings } = require('./base/service');
const { onStopSignal } = require('./base/signal');

const app = new Service();
let inFlight = 0;
app.server.on('request', (_, response) => {
  inFlight += 1;
  response.once('finish', () => { inFlight -= 1; });
});

onStopSignal(app, async () => {
  app.isReady = () => false;
  app.sayClose();
  app.log('readiness_off');
  await sleep(settings.drainDelayMs);
  app.server.close();
  app.closeIdle();
  app.log('listener_closed');
  const deadline = Date.now() + settings.drainDeadlineMs;
  while (inFlight > 0 && Date.now() < deadline) await sleep(20);
  app.log(inFlight > 0 ? 'drain_deadline_exceeded' : 'drained', { counted: inFlight });
  await app.pool.end();
  app.log('pool_closed');
  app.exit(inFlight > 0 ? 1 : 0);
});
app.listen();
