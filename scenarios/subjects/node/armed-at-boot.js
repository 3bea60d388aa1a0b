'use strict';
// Arms its forced exit when the module loads instead of at the signal: ARMED_MS after its start it ends in the middle
// of its work.

const { Service } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');
const { millis } = require('./base/settings');

const app = new Service();
setTimeout(() => {
  console.error('could not close connections in time, forcing shutdown');
  app.exit(1);
}, millis('ARMED_MS', 10_000)).unref();

shutDownGracefully(app);
app.listen();
