'use strict';
// Drains as it should, but its pool never finishes closing: the safety timer exits with 1 before the grace is over.

const { Service } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');

const app = new Service();
const hanging = { name: 'pool', close: () => new Promise(() => {}) };
shutDownGracefully(app, { stepMs: 3_600_000, resources: [hanging] });
app.listen();
