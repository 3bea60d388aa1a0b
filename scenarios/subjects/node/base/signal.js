'use strict';
// The first SIGTERM or SIGINT; what comes after it changes nothing.

/** Runs `handler` at the first signal, after the line of the log that names it. */
function onStopSignal(app, handler) {
  let begun = false;
  const begin = (signal) => {
    if (begun) return;
    begun = true;
    app.log(signal.toLowerCase());
    handler();
  };
  process.on('SIGTERM', begin);
  process.on('SIGINT', begin);
}

module.exports = { onStopSignal };
