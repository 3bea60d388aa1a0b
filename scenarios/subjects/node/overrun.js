'use strict';
// Drains as it should, but waits for its requests as long as they take, and nothing ends it before the kubelet does.

const { Service } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');

const app = new Service();
shutDownGracefully(app, { drainMs: 3_600_000, safetyMs: 3_600_000 });
app.listen();
