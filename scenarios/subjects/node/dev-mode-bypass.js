'use strict';
// Shuts down like the reference, but not where NODE_ENV is `development`: there it ends at the signal.

const { Service } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');
const { onStopSignal } = require('./base/signal');

const app = new Service();
if (process.env.NODE_ENV === 'development') {
  onStopSignal(app, () => {
    app.log('graceful_shutdown_skipped', { why: 'development mode' });
    app.exit(0);
  });
} else {
  shutDownGracefully(app);
}
app.listen();
