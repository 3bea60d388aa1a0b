'use strict';
// What all subjects have in common: the HTTP surface, the counts, the log. How to stop is each subject's own.

const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');
const ledger = require('./ledger');
const settings = require('./settings');
const { Jobs } = require('./jobs');
const { Pool } = require('./pool');

/** The longest time that a request can ask for. */
const LONGEST_MS = 600_000;
/** The largest request body that is read, in bytes. */
const LARGEST_BODY = 1 << 20;
/** Pieces of `/stream`. */
const PIECES = 10;

/** Lines of the log that the ledger has too, by its names. */
const STEPS = {
  sigterm: 'signal',
  sigint: 'signal',
  readiness_off: 'draining',
  listener_closed: 'refusing',
  pool_closed: 'pool_closed',
  shutdown_timeout: 'timeout',
};

class Service {
  pool = new Pool();
  jobs = new Jobs(this.pool);
  /** Whether `/healthz/ready` answers 200. */
  isReady = () => true;
  /** Runs before each request; what it throws is the answer. */
  before = async () => {};
  /** Answers further paths: `(request, url, response) => true` where it did. */
  more = () => false;
  /** Open connections, with the number of requests that each is answering. */
  connections = new Map();
  /** Responses that are not sent yet. */
  open = new Set();
  served = 0;
  #accepted = 0;
  #saysClose = false;

  constructor() {
    ledger(`started ${process.pid}`);
    this.log('start', { pod: settings.podName });
    this.server = http.createServer();
    this.server.keepAliveTimeout = settings.keepAliveMs;
    this.server.on('connection', (socket) => this.#connected(socket));
    this.server.on('request', (request, response) => this.#received(request, response));
  }

  /** Opens the listener. */
  listen() {
    const { port, host } = settings;
    this.server.on('error', (error) => {
      console.error(`error: cannot listen on ${host}:${port}: ${error.message}: check POD_IP and PORT`);
      process.exit(1);
    });
    this.server.listen({ port, host, backlog: 1024 }, () => {
      ledger('listening');
      this.log('listening');
    });
  }

  /** One line of JSON on stdout, with the counts of now. */
  log(event, fields = {}) {
    if (STEPS[event]) ledger(STEPS[event]);
    if (event === 'exit') ledger(`exit ${fields.code}`);
    const line = { t: Date.now(), ev: event, inflight: this.open?.size ?? 0, conns: this.connections?.size ?? 0 };
    process.stdout.write(`${JSON.stringify({ ...line, ...fields })}\n`);
  }

  /** The last line of the log, and the end. `cut`: requests that get no answer any more. */
  exit(code, cut = this.open.size) {
    this.log('exit', { code, served: this.served, cut });
    process.exit(code);
  }

  /** From now on every response tells its client to use another connection. */
  sayClose() {
    this.#saysClose = true;
    for (const response of this.open) if (!response.headersSent) response.setHeader('connection', 'close');
  }

  /** Closes connections that are answering nothing. */
  closeIdle() {
    for (const [socket, answering] of this.connections) if (answering === 0) socket.destroy();
  }

  /** Resolves once no connection is open. */
  async connectionsGone() {
    while (this.connections.size > 0) await sleep(5);
  }

  #connected(socket) {
    socket.ordinal = ++this.#accepted;
    socket.requests = 0;
    ledger(`accepted ${socket.ordinal} ${socket.remotePort}`);
    this.connections.set(socket, 0);
    socket.once('close', () => this.connections.delete(socket));
  }

  #received(request, response) {
    const { socket } = request;
    const id = `${socket.ordinal} ${++socket.requests}`;
    ledger(`received ${id} ${request.method} ${request.url}`);
    this.open.add(response);
    this.connections.set(socket, this.connections.get(socket) + 1);
    response.setHeader('x-pod-name', settings.podName);
    if (this.#saysClose) response.setHeader('connection', 'close');
    response.id = id;
    response.once('close', () => {
      this.open.delete(response);
      if (this.connections.has(socket)) this.connections.set(socket, this.connections.get(socket) - 1);
      if (response.writableFinished) this.served += 1;
      ledger(response.writableFinished ? `answered ${id} ${response.statusCode}` : `unanswered ${id}`);
    });
    this.#answer(request, response).catch((error) => reply(response, 500, `${error.message}\n`));
  }

  async #answer(request, response) {
    const url = new URL(request.url, 'http://service');
    if (this.health(url, response)) return;
    if (!(await readBody(request))) return reply(response, 413, 'body too large\n');
    await this.before(request);
    if (this.more(request, url, response)) return;
    const ms = Math.min(Number(url.searchParams.get('ms')) || 0, LONGEST_MS);
    switch (url.pathname) {
      case '/':
      case '/work':
        await this.pool.query();
        if (ms > 0) await sleep(ms);
        return reply(response, 200, 'ok\n');
      case '/stream':
        return stream(response, ms);
      case '/jobs':
        if (request.method !== 'POST') return reply(response, 200, `${JSON.stringify(this.jobs.counts())}\n`, 'application/json');
        await this.pool.query();
        this.jobs.enqueue(ms);
        return reply(response, 202, 'queued\n');
      case '/fail':
        return reply(response, 500, 'as asked for\n');
      default:
        return reply(response, 404, 'not found\n');
    }
  }

  /** The health checks: liveness says that the process is not stuck, readiness whether it wants traffic. */
  health(url, response) {
    if (url.pathname === '/healthz/live') reply(response, 200, 'live\n');
    else if (url.pathname !== '/healthz/ready') return false;
    else if (this.isReady()) reply(response, 200, 'ready\n');
    else reply(response, 503, 'draining\n');
    return true;
  }
}

/** Reads a request's body to its end; false when it is too large. */
async function readBody(request) {
  let size = 0;
  for await (const chunk of request) size += chunk.length;
  return size <= LARGEST_BODY;
}

function reply(response, status, text, type = 'text/plain; charset=utf-8') {
  if (response.headersSent) return response.destroy();
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  end(response, text);
}

/** The end of an answer. The ledger has it before the kernel does. */
function end(response, text) {
  if (response.id) ledger(`answering ${response.id}`);
  response.end(text);
}

/** A chunked body that takes so long. */
async function stream(response, ms) {
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
  for (let piece = 1; piece <= PIECES && !response.destroyed; piece += 1) {
    await sleep(ms / PIECES);
    if (piece < PIECES) response.write(`${piece} of ${PIECES}\n`);
  }
  end(response, `${PIECES} of ${PIECES}\n`);
}

module.exports = { Service, reply, settings };
