'use strict';
// What a subject reads from its environment; the names and defaults are those of the built-in subjects.

function millis(name, otherwise) {
  const text = process.env[name];
  if (text === undefined || text === '') return otherwise;
  if (!/^\d+$/.test(text)) {
    console.error(`error: ${name}=${JSON.stringify(text)}: expected whole milliseconds, such as 1500`);
    process.exit(2);
  }
  return Number(text);
}

const port = Number(process.env.PORT || 3000);
const drainDelayMs = millis('DRAIN_DELAY_MS', 5000);
const drainDeadlineMs = millis('DRAIN_DEADLINE_MS', 15000);

module.exports = {
  millis,
  port,
  host: process.env.POD_IP || '127.0.0.1',
  podName: process.env.POD_NAME || 'local',
  /** How long it keeps serving after the signal, until routing has converged. */
  drainDelayMs,
  /** How long requests in flight may take once the listener is closed. */
  drainDeadlineMs,
  /** From the signal until the safety timer ends the process. */
  safetyMs: millis('SAFETY_MS', drainDelayMs + drainDeadlineMs + 1000),
  /** Idle time after which a connection is closed. */
  keepAliveMs: millis('KEEP_ALIVE_MS', 65000),
  /** The ledger's file or its folder; without it none is kept. */
  ledger: process.env.SUBJECT_LEDGER || '',
};
