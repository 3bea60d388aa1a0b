'use strict';
// A small job queue in memory with one worker.

const { setTimeout: sleep } = require('node:timers/promises');

class Jobs {
  #queue = [];
  #running = null;
  #stopped = false;
  #done = 0;
  #returned = 0;
  #lost = 0;
  #pool;

  constructor(pool) {
    this.#pool = pool;
  }

  /** Adds a job that takes so long. Once the worker has stopped it is returned at once. */
  enqueue(ms) {
    if (this.#stopped) this.#returned += 1;
    else this.#queue.push(ms);
    this.#next();
  }

  counts() {
    return {
      queued: this.#queue.length,
      running: this.#running ? 1 : 0,
      done: this.#done,
      returned: this.#returned,
      lost: this.#lost,
      duplicated: 0,
    };
  }

  /** Reserves nothing more: what is queued goes back. */
  stop() {
    this.#stopped = true;
    this.#returned += this.#queue.length;
    this.#queue = [];
  }

  /** Waits for the running job; the number of those that went back. */
  async finished() {
    await this.#running;
    return this.#returned;
  }

  #next() {
    if (this.#stopped || this.#running || this.#queue.length === 0) return;
    this.#running = this.#work(this.#queue.shift()).finally(() => {
      this.#running = null;
      this.#next();
    });
  }

  async #work(ms) {
    await sleep(ms);
    try {
      await this.#pool.query();
      this.#done += 1;
    } catch {
      // Its end could not be reported.
      this.#lost += 1;
    }
  }
}

module.exports = { Jobs };
