'use strict';
// Slow for the first SLOW_START_MS of its life, in which its readiness says 200 already.

const { setTimeout: sleep } = require('node:timers/promises');
const { Service } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');
const { millis } = require('./base/settings');

const COLD_MS = millis('SLOW_START_MS', 3000);
const PENALTY_MS = 800;

const app = new Service();
const started = Date.now();
app.before = async () => {
  if (Date.now() - started < COLD_MS) await sleep(PENALTY_MS);
};
shutDownGracefully(app);
app.listen();
