'use strict';
// The reference for budgets by stage: each stage has its own deadline and its own way to give up, and all of them
// together stay below the grace period.
//
//   stage        budget              gives up by
//   routing      DRAIN_DELAY_MS      going on
//   requests     DRAIN_DEADLINE_MS   destroying the sockets that are left, and counting their requests
//   jobs         JOBS_MS             returning the leases: the jobs run elsewhere
//   resources    POOL_MS             leaving them to the kernel

const { setTimeout: sleep, setImmediate: nextTurn } = require('node:timers/promises');
const { Service, settings } = require('./base/service');
const { millis } = require('./base/settings');
const { onStopSignal } = require('./base/signal');

const JOBS_MS = millis('JOBS_MS', 1000);
const POOL_MS = millis('POOL_MS', 500);

const app = new Service();
let closing = false;
app.server.on('request', (request, response) => {
  response.once('close', () => closing && request.socket.destroySoon());
});

/** Whether `work` is done in time. */
async function inTime(ms, work) {
  return Promise.race([work.then(() => true), sleep(ms, false)]);
}

async function drainRequests() {
  await nextTurn();
  closing = true;
  const closed = new Promise((resolve) => app.server.close(resolve));
  app.closeIdle();
  app.log('listener_closed');
  if (await inTime(settings.drainDeadlineMs, closed)) return 0;
  const cut = app.open.size;
  for (const socket of app.connections.keys()) socket.destroy();
  return cut;
}

onStopSignal(app, async () => {
  setTimeout(() => {
    app.log('shutdown_timeout');
    app.exit(1);
  }, settings.safetyMs).unref();
  app.isReady = () => false;
  app.sayClose();
  app.jobs.stop();
  app.log('readiness_off');
  await sleep(settings.drainDelayMs);

  const cut = await drainRequests();
  app.log('drained', { cut });

  const done = await inTime(JOBS_MS, app.jobs.finished());
  app.log(done ? 'worker_stopped' : 'leases_returned', app.jobs.counts());

  if (await inTime(POOL_MS, app.pool.end())) app.log('pool_closed');
  app.exit(0, cut);
});
app.listen();
