'use strict';
// The reference's shutdown for a subject that does all but one thing as the reference does.

const { gracefulShutdown } = require('../graceful-shutdown');
const settings = require('./settings');

/** Shuts `app` down as `graceful.js` does, with other options where they are given. */
function shutDownGracefully(app, options = {}) {
  const jobs = { name: 'worker', stop: () => app.jobs.stop(), finished: async () => ({ returned: await app.jobs.finished() }) };
  const shutdown = gracefulShutdown(app.server, {
    delayMs: settings.drainDelayMs,
    drainMs: settings.drainDeadlineMs,
    safetyMs: settings.safetyMs,
    workers: [jobs],
    resources: [{ name: 'pool', close: () => app.pool.end() }],
    log: (event, fields) => app.log(event, fields),
    ...options,
  });
  app.isReady = shutdown.isReady;
}

module.exports = { shutDownGracefully };
