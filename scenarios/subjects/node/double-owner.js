'use strict';
// Two handlers of SIGTERM: a framework's hooks close the pool at once, while a graceful-shutdown library drains, calls
// the same hooks, and closes it again.

const { Service } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');

const app = new Service();

async function frameworkHooks() {
  await app.pool.end();
  app.log('pool_closed');
}

process.once('SIGTERM', () => {
  app.log('sigterm');
  frameworkHooks();
});
shutDownGracefully(app);
app.listen();
