'use strict';
// A subject's own account of what reached its sockets, for tests: the same lines as the built-in subjects write.

const fs = require('node:fs');
const path = require('node:path');
const settings = require('./settings');

function open() {
  if (!settings.ledger) return () => {};
  const isFolder = fs.existsSync(settings.ledger) && fs.statSync(settings.ledger).isDirectory();
  const file = isFolder ? path.join(settings.ledger, `${settings.podName}.ledger`) : settings.ledger;
  const fd = fs.openSync(file, 'a');
  // One write a line, so that it is in the file when the process is killed right after it.
  return (line) => {
    const micros = Math.round((performance.timeOrigin + performance.now()) * 1000);
    fs.writeSync(fd, `${micros} ${line}\n`);
  };
}

module.exports = open();
