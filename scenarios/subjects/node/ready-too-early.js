'use strict';
// Answers health checks on a port of their own (HEALTH_PORT) before its traffic port listens (LISTEN_DELAY_MS later).

const http = require('node:http');
const { Service, reply, settings } = require('./base/service');
const { shutDownGracefully } = require('./base/graceful');
const { millis } = require('./base/settings');

const app = new Service();
shutDownGracefully(app);
const health = http.createServer((request, response) => {
  const url = new URL(request.url, 'http://service');
  if (!app.health(url, response)) reply(response, 404, 'not found\n');
});
health.listen({ port: Number(process.env.HEALTH_PORT || settings.port + 1), host: settings.host });
setTimeout(() => app.listen(), millis('LISTEN_DELAY_MS', 1500));
