'use strict';
// A job queue in Redis. Each step of a job's life is one script, so that a kill leaves it done or not done, and appends
// a line to the list `jobs:events`: {"job", "event", "pod", "t"}.

const { podName } = require('./settings');

/** What all scripts begin with: the time in milliseconds, and `event`. */
const COMMON = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function event(key, name, pod)
  redis.call('RPUSH', 'jobs:events', cjson.encode({ job = key, event = name, pod = pod, t = now }))
end
`;

/** Accepts a job once, however often it is submitted. */
const SUBMIT = `
local key, length = ARGV[1], ARGV[2]
if redis.call('HSETNX', 'jobs:length', key, length) == 0 then return 0 end
redis.call('RPUSH', 'jobs:queue', key)
event(key, 'accepted', ARGV[3])
return 1
`;

/** Gives what is leased for too long back to the queue, and leases the next job. */
const LEASE = `
local owner, lease = ARGV[1], ARGV[2]
for _, key in ipairs(redis.call('ZRANGEBYSCORE', 'jobs:leases', '-inf', now)) do
  redis.call('ZREM', 'jobs:leases', key)
  event(key, 'lease_expired', redis.call('HGET', 'jobs:owner', key))
  redis.call('HDEL', 'jobs:owner', key)
  redis.call('LPUSH', 'jobs:queue', key)
end
local key = redis.call('LPOP', 'jobs:queue')
if not key then return false end
redis.call('ZADD', 'jobs:leases', now + lease, key)
redis.call('HSET', 'jobs:owner', key, owner)
event(key, 'reserved', owner)
return { key, redis.call('HGET', 'jobs:length', key), redis.call('HGET', 'jobs:step', key) or '0' }
`;

/** The rest is done by the lease's owner alone: to anybody else the answer is 0. */
const OWNED = `
local key, owner = ARGV[1], ARGV[2]
if redis.call('HGET', 'jobs:owner', key) ~= owner then return 0 end
`;
const RENEW = `${OWNED} redis.call('ZADD', 'jobs:leases', now + ARGV[3], key) return 1`;
const CHECKPOINT = `${OWNED} redis.call('HSET', 'jobs:step', key, ARGV[3]) return 1`;
const RELEASE = `${OWNED}
redis.call('ZREM', 'jobs:leases', key)
redis.call('HDEL', 'jobs:owner', key)
if ARGV[3] == 'returned' then
  redis.call('LPUSH', 'jobs:queue', key)
  event(key, 'returned', owner)
else
  redis.call('HSET', 'jobs:state', key, 'done')
end
return 1
`;

/** Takes a job out of the queue and says that somebody works on it: not who, and not until when. */
const TAKE = `
local key = redis.call('LPOP', 'jobs:queue')
if not key then return false end
redis.call('HSET', 'jobs:state', key, 'processing')
event(key, 'reserved', ARGV[1])
return { key, redis.call('HGET', 'jobs:length', key), '0' }
`;

/** The effect of a job on the world: once for each call, or once for each job. */
const EFFECT = `
local key, owner, once = ARGV[1], ARGV[2], ARGV[3]
if once == 'once' and redis.call('HEXISTS', 'db:effects', key) == 1 then return 0 end
redis.call('HINCRBY', 'db:effects', key, 1)
event(key, 'done', owner)
return 1
`;

/** Who leases: a container that restarts is another one. */
const OWNER = `${podName}/${process.pid}.${Date.now()}`;

class Queue {
  #redis;

  constructor(redis) {
    this.#redis = redis;
  }

  #run(script, ...args) {
    return this.#redis.command('EVAL', COMMON + script, 0, ...args);
  }

  submit(key, ms) {
    return this.#run(SUBMIT, key, ms, podName);
  }

  async lease(leaseMs) {
    return job(await this.#run(LEASE, OWNER, leaseMs));
  }

  async take() {
    return job(await this.#run(TAKE, OWNER));
  }

  /** These give 0 where the lease is another's by now. */
  renew(key, leaseMs) {
    return this.#run(RENEW, key, OWNER, leaseMs);
  }

  checkpoint(key, step) {
    return this.#run(CHECKPOINT, key, OWNER, step);
  }

  giveBack(key) {
    return this.#run(RELEASE, key, OWNER, 'returned');
  }

  finish(key) {
    return this.#run(RELEASE, key, OWNER, 'done');
  }

  /** For jobs that nobody leases. */
  setDone(key) {
    return this.#redis.command('HSET', 'jobs:state', key, 'done');
  }

  async events() {
    const lines = await this.#redis.command('LRANGE', 'jobs:events', 0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  close() {
    this.#redis.close();
  }
}

/** The database: what jobs do to the world. */
class Database {
  #redis;

  constructor(redis) {
    this.#redis = redis;
  }

  effect(key) {
    return this.#redis.command('EVAL', COMMON + EFFECT, 0, key, OWNER, 'each');
  }

  /** However often it is tried. */
  effectOnce(key) {
    return this.#redis.command('EVAL', COMMON + EFFECT, 0, key, OWNER, 'once');
  }

  query() {
    return this.#redis.command('PING');
  }

  close() {
    this.#redis.close();
  }
}

function job(answer) {
  return answer && { key: answer[0], ms: Number(answer[1]), step: Number(answer[2]) };
}

module.exports = { Queue, Database };
