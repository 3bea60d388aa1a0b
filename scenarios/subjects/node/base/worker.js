'use strict';
// What the workers have in common: a loop that reserves one job after the other, and the HTTP surface of the queue. A
// job takes as long as it was submitted with, in STEPS steps.

const { randomUUID } = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');
const { Service, reply, settings } = require('./service');
const { Database, Queue } = require('./queue');
const { Redis } = require('./redis');

const STEPS = 4;
const WORKERS = Number(process.env.WORKERS || 1);
/** How often an empty queue is asked again. */
const EMPTY_MS = 20;

const redisUrl = process.env.REDIS_URL || 'redis://127.0.0.1:6379';

/** A service with a queue and a database, each on its connection. */
function workerService() {
  const app = new Service();
  app.queue = new Queue(new Redis(redisUrl));
  app.database = new Database(new Redis(redisUrl));
  app.leaseMs = settings.millis('LEASE_MS', 2000);
  app.more = (request, url, response) => answer(app, request, url, response);
  return app;
}

function answer(app, request, url, response) {
  const fail = (error) => reply(response, 500, `${error.message}\n`);
  if (url.pathname === '/jobs' && request.method === 'POST') {
    const key = request.headers['idempotency-key'] || randomUUID();
    app.queue.submit(key, Number(url.searchParams.get('ms')) || 0).then(() => reply(response, 202, `${key}\n`), fail);
    return true;
  }
  if (url.pathname === '/jobs/events') {
    const json = (events) => reply(response, 200, `${JSON.stringify(events)}\n`, 'application/json');
    app.queue.events().then(json, fail);
    return true;
  }
  return false;
}

class Worker {
  #stopped = false;
  #loop = Promise.resolve();

  /** `reserve() => job or null`; `run(job)` works on it. WORKERS jobs run at the same time, 1 by default. */
  start(reserve, run) {
    const loops = Array.from({ length: WORKERS }, () => this.#work(reserve, run));
    this.#loop = Promise.allSettled(loops);
  }

  /** No job is reserved any more. */
  stop() {
    this.#stopped = true;
  }

  isStopped() {
    return this.#stopped;
  }

  /** Waits for the running jobs, however they end. */
  async finished() {
    await this.#loop;
  }

  async #work(reserve, run) {
    while (!this.#stopped) {
      const job = await reserve();
      if (job) await run(job);
      else await sleep(EMPTY_MS);
    }
  }
}

/** One of the steps of a job. */
function step(job) {
  return sleep(job.ms / STEPS);
}

module.exports = { Worker, workerService, step, STEPS };
