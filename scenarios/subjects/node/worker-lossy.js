'use strict';
// Marks a job as "processing", without an owner and without a lease: when the process is killed, nobody ever comes back
// to it. At SIGTERM it waits for the running job, so that nothing shows in an ordinary rollout.

const { Worker, workerService, step, STEPS } = require('./base/worker');
const { shutDownGracefully } = require('./base/graceful');

const app = workerService();
const worker = new Worker();

async function run(job) {
  for (let done = 0; done < STEPS; done += 1) await step(job);
  await app.database.effect(job.key);
  await app.queue.setDone(job.key);
}

shutDownGracefully(app, {
  workers: [{ name: 'worker', stop: () => worker.stop(), finished: () => worker.finished() }],
  resources: [
    { name: 'pool', close: () => app.pool.end() },
    { name: 'database', close: async () => app.database.close() },
    { name: 'queue_connection', close: async () => app.queue.close() },
  ],
});
app.listen();
worker.start(() => app.queue.take(), run);
