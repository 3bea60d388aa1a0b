'use strict';
// Closes its pool before the requests are drained: those that still come are answered with 500.

const { Service } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');

const app = new Service();
const close = async () => {
  await app.pool.end();
  app.log('pool_closed');
};
process.once('SIGTERM', close);
process.once('SIGINT', close);
shutDownGracefully(app, { resources: [] });
app.listen();
