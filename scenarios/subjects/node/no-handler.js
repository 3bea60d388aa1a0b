'use strict';
// Has no handler of SIGTERM. As PID 1 of a container the kernel gives it no default action: it serves on.

const { Service } = require('./base/service');

const app = new Service();
app.listen();
