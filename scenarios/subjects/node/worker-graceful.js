'use strict';
// The reference of a job worker:
//   - a job is reserved with an owner and a lease, which is renewed while it runs: whoever dies loses it to another one
//   - after each step it says how far it is; a job that comes again goes on from there
//   - its effect is idempotent, and the end is reported by the owner alone: a job that runs twice does nothing twice
//   - at SIGTERM it reserves nothing more; the running job finishes if that is soon, else it stops at the next
//     checkpoint and goes back to the queue at once
//   - the queue is closed after that, and the database last

const { gracefulShutdown } = require('./graceful-shutdown');
const { Worker, workerService, step, STEPS } = require('./base/worker');
const { millis, drainDelayMs, drainDeadlineMs, safetyMs } = require('./base/settings');

/** What is left of a job at SIGTERM may take this long. */
const FINISH_MS = millis('FINISH_MS', 500);

const app = workerService();
const worker = new Worker();
let returned = 0;

async function run(job) {
  let owned = true;
  const renewing = setInterval(async () => {
    owned = (await app.queue.renew(job.key, app.leaseMs).catch(() => 0)) === 1;
  }, app.leaseMs / 3);
  try {
    for (let done = job.step; done < STEPS; done += 1) {
      if (!owned) return;
      const left = (job.ms / STEPS) * (STEPS - done);
      if (worker.isStopped() && left > FINISH_MS) {
        returned += await app.queue.giveBack(job.key);
        return;
      }
      await step(job);
      if ((await app.queue.checkpoint(job.key, done + 1)) === 0) return;
    }
    await app.database.effectOnce(job.key);
    await app.queue.finish(job.key);
  } finally {
    clearInterval(renewing);
  }
}

const shutdown = gracefulShutdown(app.server, {
  delayMs: drainDelayMs,
  drainMs: drainDeadlineMs,
  safetyMs,
  workers: [
    {
      name: 'worker',
      stop: () => worker.stop(),
      finished: async () => {
        await worker.finished();
        return { returned };
      },
    },
  ],
  resources: [
    { name: 'pool', close: () => app.pool.end() },
    { name: 'database', close: async () => app.database.close() },
    { name: 'queue_connection', close: async () => app.queue.close() },
  ],
  log: (event, fields) => app.log(event, fields),
});
app.isReady = shutdown.isReady;
app.listen();
worker.start(() => app.queue.lease(app.leaseMs), run);
