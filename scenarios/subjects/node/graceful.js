'use strict';
// The reference: see graceful-shutdown.js for what it does, step by step.

const { gracefulShutdown } = require('./graceful-shutdown');
const { Service, settings } = require('./base/service');

const app = new Service();
const shutdown = gracefulShutdown(app.server, {
  delayMs: settings.drainDelayMs,
  drainMs: settings.drainDeadlineMs,
  safetyMs: settings.safetyMs,
  workers: [{ name: 'worker', stop: () => app.jobs.stop(), finished: async () => ({ returned: await app.jobs.finished() }) }],
  resources: [
    { name: 'telemetry', close: async () => app.log('metrics', { served: app.served }) },
    { name: 'pool', close: () => app.pool.end() },
  ],
  log: (event, fields) => app.log(event, fields),
});
app.isReady = shutdown.isReady;
app.listen();
