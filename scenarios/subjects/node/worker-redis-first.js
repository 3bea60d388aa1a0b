'use strict';
// Closes its queue connection at SIGTERM, and waits for the running jobs after that: they do their work and cannot say
// so. Their leases expire, and another instance does the work again.

const { Worker, workerService, step, STEPS } = require('./base/worker');
const { shutDownGracefully } = require('./base/graceful');

const app = workerService();
const worker = new Worker();

async function run(job) {
  const renewing = setInterval(() => app.queue.renew(job.key, app.leaseMs).catch(() => {}), app.leaseMs / 3);
  for (let done = 0; done < STEPS; done += 1) await step(job);
  await app.database.effect(job.key);
  clearInterval(renewing);
  await app.queue.finish(job.key);
}

const closeQueue = () => app.queue.close();
process.once('SIGTERM', closeQueue);
process.once('SIGINT', closeQueue);
shutDownGracefully(app, {
  stepMs: 60_000,
  safetyMs: 60_000,
  workers: [{ name: 'worker', stop: () => worker.stop(), finished: () => worker.finished() }],
  resources: [
    { name: 'pool', close: () => app.pool.end() },
    { name: 'database', close: async () => app.database.close() },
  ],
});
app.listen();
worker.start(() => app.queue.lease(app.leaseMs), run);
