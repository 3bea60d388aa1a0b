'use strict';
// Ends by an exception that nobody catches, on `/crash` or CRASH_AFTER_MS after its start; a rollout has no part in it.

const { Service } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');
const { millis } = require('./base/settings');

const app = new Service();
process.on('uncaughtException', (error) => {
  app.log('uncaught_exception', { error: error.message });
  app.exit(1);
});
const fail = () => {
  throw new Error('a defect');
};
app.more = (request, url) => {
  if (url.pathname === '/crash') setImmediate(fail);
  return url.pathname === '/crash';
};
const after = millis('CRASH_AFTER_MS');
if (after !== undefined) setTimeout(fail, after).unref();
shutDownGracefully(app);
app.listen();
