'use strict';
// Gives its drain the whole grace period (DRAIN_DEADLINE_MS is set to it), so that SIGKILL comes before the last line.

const { Service } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');

const app = new Service();
shutDownGracefully(app, { safetyMs: 3_600_000 });
app.listen();
