'use strict';
// A connection pool of a made-up database. Like a real one it keeps the process alive until it is ended.

const { setImmediate: nextTurn } = require('node:timers/promises');

class Pool {
  #ended = false;
  #running = new Set();
  // Stands for the sockets of a real pool.
  #open = setInterval(() => {}, 60_000);

  /** One query: it takes a turn of the event loop. */
  async query() {
    if (this.#ended) throw new Error('Cannot use a pool after calling end on the pool');
    const answer = nextTurn();
    this.#running.add(answer);
    await answer;
    this.#running.delete(answer);
  }

  /** Refuses every later query and waits for the running ones. */
  async end() {
    this.#ended = true;
    await Promise.all(this.#running);
    clearInterval(this.#open);
  }
}

module.exports = { Pool };
