'use strict';
// A graceful shutdown for a `node:http` server: one file without dependencies, to be copied into a service.
//
//   const shutdown = gracefulShutdown(server, { delayMs: 5000, drainMs: 15000, safetyMs: 25000, log, ... });
//   readiness handler: response.statusCode = shutdown.isReady() ? 200 : 503; liveness stays 200 to the end
//
// At SIGTERM or SIGINT, in this order:
//   1. the safety timer is armed: whatever hangs later, the process ends with 1 before the grace period does
//   2. readiness answers 503, workers reserve no new job, responses carry `Connection: close`
//   3. everything is served for `delayMs`, until load balancers and clients know
//   4. the listener is closed, then idle connections, then the others as they become idle
//   5. requests in flight have `drainMs`; those that are left are cut, and counted
//   6. workers finish their job, stop at a checkpoint, or return it
//   7. resources are closed in the reverse order of their opening, so telemetry goes last if it was opened first
//   8. one last line of the log, and exit code 0; 1 where a step failed or did not end in time
// A second signal changes nothing.

const { setTimeout: sleep, setImmediate: nextTurn } = require('node:timers/promises');

/** How long a connection that never sent a request may hold the drain. */
const UNUSED_MS = 1000;

/**
 * Installs the signal handlers.
 *
 * @param {import('node:http').Server} server
 * @param {object} options
 * @param {number} options.delayMs how long routing takes to follow; 0 where a preStop hook waits for it
 * @param {number} options.drainMs how long requests in flight may take once the listener is closed
 * @param {number} options.safetyMs the whole budget: below terminationGracePeriodSeconds minus preStop
 * @param {number} [options.stepMs] how long each worker and each resource may take, 2000 by default
 * @param {{name: string, stop(): void, finished(): Promise<object>}[]} [options.workers]
 * @param {{name: string, close(): Promise<void>}[]} [options.resources] in the order in which they were opened
 * @param {(event: string, fields?: object) => void} [options.log]
 */
function gracefulShutdown(server, options) {
  const { delayMs, drainMs, safetyMs, stepMs = 2000, workers = [], resources = [] } = options;
  const log = options.log ?? ((event, fields) => console.log(JSON.stringify({ ev: event, ...fields })));
  const traffic = new Traffic(server);
  let begun = false;
  let cut = 0;
  let failed = false;

  function exit(code) {
    log('exit', { code, served: traffic.served, cut });
    process.exit(code);
  }

  /** Runs one step; one that fails or hangs does not keep the others from running. */
  async function step(name, run) {
    try {
      const fields = await within(stepMs, run(), name);
      log(name, typeof fields === 'object' ? fields : undefined);
    } catch (error) {
      failed = true;
      log('shutdown_step_failed', { step: name, error: error.message });
    }
  }

  async function begin(signal) {
    if (begun) return;
    begun = true;
    setTimeout(() => {
      log('shutdown_timeout');
      cut = traffic.open.size;
      exit(1);
    }, safetyMs).unref();
    log(signal.toLowerCase());

    traffic.sayClose();
    for (const worker of workers) worker.stop();
    log('readiness_off');
    await sleep(delayMs);

    // What has already arrived is read first: its connection is not idle.
    await nextTurn();
    const closed = new Promise((resolve) => server.close(resolve));
    traffic.closeIdle();
    log('listener_closed');

    await Promise.race([closed, sleep(drainMs)]);
    cut = traffic.open.size;
    traffic.cutAll();
    log('drained', { cut });

    for (const worker of workers) await step(`${worker.name}_stopped`, () => worker.finished());
    for (const resource of [...resources].reverse()) await step(`${resource.name}_closed`, () => resource.close());
    exit(failed ? 1 : 0);
  }

  process.on('SIGTERM', begin);
  process.on('SIGINT', begin);
  return { isReady: () => !begun };
}

/** The connections of a server and the responses that are not sent yet. */
class Traffic {
  served = 0;
  open = new Set();
  #used = new Map();
  #answering = new Map();
  #closing = false;
  #draining = false;

  constructor(server) {
    server.on('connection', (socket) => {
      this.#answering.set(socket, 0);
      socket.once('close', () => this.#answering.delete(socket) && this.#used.delete(socket));
    });
    // First of all listeners: the header must be there before an answer is written.
    server.prependListener('request', (request, response) => this.#received(request.socket, response));
  }

  #received(socket, response) {
    this.open.add(response);
    this.#used.set(socket, true);
    this.#answering.set(socket, (this.#answering.get(socket) ?? 0) + 1);
    if (this.#draining) response.setHeader('connection', 'close');
    response.once('close', () => {
      this.open.delete(response);
      if (response.writableFinished) this.served += 1;
      const left = (this.#answering.get(socket) ?? 1) - 1;
      if (this.#answering.has(socket)) this.#answering.set(socket, left);
      // One whose head went out before the signal could not say it.
      if (this.#closing && left === 0) socket.destroySoon();
    });
  }

  /** From now on every response tells its client to use another connection. */
  sayClose() {
    this.#draining = true;
    for (const response of this.open) if (!response.headersSent) response.setHeader('connection', 'close');
  }

  /** Closes what is idle, now and from now on. */
  closeIdle() {
    this.#closing = true;
    for (const [socket, answering] of this.#answering) {
      if (answering > 0) continue;
      if (this.#used.has(socket)) socket.destroy();
      else setTimeout(() => this.#used.has(socket) || socket.destroy(), UNUSED_MS).unref();
    }
  }

  cutAll() {
    for (const socket of this.#answering.keys()) socket.destroy();
  }
}

/** A promise's value, or an error after so long. */
async function within(ms, promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

module.exports = { gracefulShutdown };
