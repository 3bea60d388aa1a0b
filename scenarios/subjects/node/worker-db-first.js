'use strict';
// Closes its database and its worker in the same phase of the shutdown, the database first: the running jobs, whose
// effect is out in the world already, fail at their next query and go back to the queue. The retry repeats them.

const { Worker, workerService, step, STEPS } = require('./base/worker');
const { shutDownGracefully } = require('./base/graceful');

const app = workerService();
const worker = new Worker();

async function run(job) {
  const renewing = setInterval(() => app.queue.renew(job.key, app.leaseMs).catch(() => {}), app.leaseMs / 3);
  try {
    await app.database.effect(job.key);
    for (let done = 0; done < STEPS; done += 1) {
      await step(job);
      await app.database.query();
    }
    await app.queue.finish(job.key);
  } catch (error) {
    app.log('job_retried', { why: error.message });
    await app.queue.giveBack(job.key);
  } finally {
    clearInterval(renewing);
  }
}

const closeDatabase = () => app.database.close();
process.once('SIGTERM', closeDatabase);
process.once('SIGINT', closeDatabase);
shutDownGracefully(app, {
  stepMs: 60_000,
  safetyMs: 60_000,
  workers: [{ name: 'worker', stop: () => worker.stop(), finished: () => worker.finished() }],
  resources: [
    { name: 'pool', close: () => app.pool.end() },
    { name: 'queue_connection', close: async () => app.queue.close() },
  ],
});
app.listen();
worker.start(() => app.queue.lease(app.leaseMs), run);
