'use strict';
// Closes idle connections sooner than its clients do: a request may be written to one that is just being closed.
//
// CLOSE_TRAVEL_MS: how long that close is on its way to the client, as on a network with that round trip. What the
// client sends meanwhile is not read, and is answered with a reset.

const { Service } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');
const { millis } = require('./base/settings');

const KEEP_ALIVE_MS = millis('KEEP_ALIVE_MS', 1000);
const TRAVEL_MS = millis('CLOSE_TRAVEL_MS', 0);

const app = new Service();
// `server.keepAliveTimeout` is not exact: some versions of Node.js add a second to it.
app.server.on('request', ({ socket }, response) => {
  response.once('close', () => socket.setTimeout(KEEP_ALIVE_MS));
});
app.server.on('timeout', (socket) => {
  if (app.connections.get(socket) > 0) return;
  // This subject is about the closes of a healthy server: those of its drain are told at once.
  if (!app.isReady()) {
    socket.destroy();
    return;
  }
  socket.pause();
  setTimeout(() => socket.resetAndDestroy(), TRAVEL_MS);
});
shutDownGracefully(app);
app.listen();
