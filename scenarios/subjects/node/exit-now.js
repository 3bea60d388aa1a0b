'use strict';
// Exits in its signal handler: what is in flight is cut.

const { Service } = require('./base/service');
const { onStopSignal } = require('./base/signal');

const app = new Service();
onStopSignal(app, () => app.exit(0));
app.listen();
