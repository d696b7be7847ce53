/** How the servers are configured: as their users would, with limits that are checked and never reached. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Free ones, so that whatever else runs on the machine may stay. */
export const PORTS = await freePorts(['upstream', 'nginx', 'dashboard', 'gateway', 'throttlecrab', 'counter']);

export const address = (name, path = '') => `http://127.0.0.1:${PORTS[name]}${path}`;

/** Where the upstream says how many requests it has answered. */
export const ANSWERED = '/answered';

/** What nobody reaches. */
const WIDE = 1_000_000_000;

/** What Debian's nginx.conf sets; a connection is not closed after so many requests, which would cost nginx time. */
const DEBIAN = 'sendfile on; tcp_nopush on; gzip on; keepalive_requests 100000000;';

/** Bodies that do not fit into memory would lie here: nobody sends any. */
const folders = (folder) =>
  ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`).join(' ');

/** One JSON answer, small as most of an API's are: what a body costs is the same for everybody. */
export const upstream = (folder) => `
daemon off; worker_processes 1; pid ${folder}/pid;
events { worker_connections 4096; }
http {
  ${DEBIAN} ${folders(folder)} access_log off;
  server {
    listen 127.0.0.1:${PORTS.upstream};
    location / { default_type application/json; return 200 '{"value":[{"id":"1-abc","title":"A page"}]}'; }
    location ${ANSWERED} { stub_status; }
  }
}`;

/** A rate and a concurrency for each user, which is what it has; connections to the upstream are kept. */
export const nginx = (folder) => `
daemon off; worker_processes 1; pid ${folder}/pid;
events { worker_connections 4096; }
http {
  ${DEBIAN} ${folders(folder)} access_log ${folder}/access.log;
  limit_req_zone $http_spillway_user zone=rate:10m rate=1000000r/s;
  limit_conn_zone $http_spillway_user zone=concurrency:10m;
  upstream api { server 127.0.0.1:${PORTS.upstream}; keepalive 256; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${PORTS.nginx};
    location / {
      limit_req zone=rate burst=1000000 nodelay;
      limit_conn concurrency 1000;
      proxy_pass http://api; proxy_http_version 1.1; proxy_set_header Connection "";
    }
  }
}`;

const layers = ['user', 'app'].flatMap((scope) => [
  `{ scope = "${scope}", dimension = "rate", window_ms = 60000, limit = ${WIDE} }`,
  `{ scope = "${scope}", dimension = "rate", window_ms = 3600000, limit = ${WIDE} }`,
  `{ scope = "${scope}", dimension = "concurrency", limit = 1000000 }`,
]);

/** Six layers: a minute, an hour and a concurrency, a user's and an app's. */
export const spillway = (folder) => `
[server]
listen = "127.0.0.1:${PORTS.dashboard}"
gateway_listen = "127.0.0.1:${PORTS.gateway}"
database_url = "sqlite://${folder}/spillway.db"
state_dir = "${folder}/state"

[upstreams.api]
base_url = "${address('upstream')}/"
user_from = "header"

[[upstreams.api.workloads]]
name = "all"
paths = ["/"]
layers = [${layers.join(', ')}]
`;

async function freePorts(names) {
  const servers = names.map(() => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return Object.fromEntries(names.map((name, n) => [name, ports[n]]));
}
