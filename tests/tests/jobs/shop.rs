//! A service that does its jobs itself and keeps their events in a table.

use rollscope_tests::{Finished, Workdir};

use super::PROGRAM;
use super::postgres::{PASSWORD, Postgres};

/// Does a job in 200 ms; with `LOSE`, two of three. At SIGTERM it serves on for a while, then ends what it has begun.
const SERVER: &str = r"
const http = require('node:http');
const { spawn } = require('node:child_process');
const { DB_DIR, DB_PORT, LOSE, POD_NAME, PORT } = process.env;
const words = ['-qX', '-h', DB_DIR, '-p', DB_PORT, '-U', 'owner', '-d', 'shop'];
const db = spawn('psql', words, { stdio: ['pipe', 'ignore', 'inherit'] });
const tell = (job, event) =>
  db.stdin.write(`INSERT INTO events VALUES ('${job}', '${event}', '${POD_NAME}', clock_timestamp());\n`);
let accepted = 0, running = 0, draining = false;
const finish = (job, lost) => {
  if (!lost) tell(job, 'done');
  running -= 1;
};
const server = http.createServer((request, response) => {
  if (draining) response.setHeader('connection', 'close');
  if (request.method === 'POST') {
    const job = request.headers['idempotency-key'];
    accepted += 1;
    running += 1;
    tell(job, 'reserved');
    setTimeout(finish, 200, job, LOSE && accepted % 3 === 0);
    response.statusCode = 202;
  }
  response.end('ok\n');
});
const end = () => {
  if (running > 0) return setTimeout(end, 20);
  db.on('exit', () => process.exit(0));
  db.stdin.end();
};
process.on('SIGTERM', () => {
  draining = true;
  setTimeout(() => { server.close(end); server.closeIdleConnections(); }, 1500);
});
server.listen(Number(PORT));
";

fn manifest(postgres: &Postgres, env: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{ name: shop }}
spec:
  replicas: 2
  strategy: {{ rollingUpdate: {{ maxSurge: 1, maxUnavailable: 0 }} }}
  selector: {{ matchLabels: {{ app: shop }} }}
  template:
    metadata: {{ labels: {{ app: shop }} }}
    spec:
      terminationGracePeriodSeconds: 10
      containers:
        - name: shop
          command: [node, server.js]
          env:
            - {{ name: DB_DIR, value: '{}' }}
            - {{ name: DB_PORT, value: '{}' }}
{env}
          ports: [{{ name: http, containerPort: 8080 }}]
          readinessProbe: {{ tcpSocket: {{ port: http }}, periodSeconds: 1, failureThreshold: 1 }}
---
apiVersion: v1
kind: Service
metadata: {{ name: shop }}
spec:
  selector: {{ app: shop }}
  ports: [{{ port: 80, targetPort: http }}]
",
        postgres.dir().display(),
        postgres.port()
    )
}

fn scenario(postgres: &Postgres, query: &str) -> String {
    format!(
        "name: shop
target: {{ sandbox: {{ manifest: shop.yaml, front_end: l4, endpoint_lag: 200ms..400ms }} }}
load:
  rate: 20/s
  limits: {{ in_time: 5s }}        # what is tested is the jobs, not the machine
  requests:
    - {{ name: home, get: / }}
    - {{ name: enqueue, post: /jobs, connections: new }}
jobs:
  submit: enqueue
  rate: 4/s
  postgresql:
    url: '{}'
    password: {{ env: READER_PASSWORD }}
    ca: '{}'
    query: |
      {query}
  poll: 200ms
  complete_within: 2s
stages:
  - warmup: 2s
  - restart: {{}}
    complete_within: 1m
  - settle: 3s
gate: {{ max_failed: 0, assertions: fail }}
",
        postgres.url(),
        postgres.dir().join("own.pem").display()
    )
}

/// A rollout of the service under a load that submits jobs, whose events `query` gives.
pub(crate) fn rollout(postgres: &Postgres, env: &str, query: &str) -> (Finished, Workdir) {
    let workdir = Workdir::new(PROGRAM);
    workdir.write("server.js", SERVER);
    workdir.write("shop.yaml", &manifest(postgres, env));
    workdir.write("scenario.yaml", &scenario(postgres, query));
    let mut command = workdir.command(&["run", "scenario.yaml", "--out", "out"]);
    command.env("READER_PASSWORD", PASSWORD);
    let run = workdir.finished(command.output().unwrap());
    (run, workdir)
}
