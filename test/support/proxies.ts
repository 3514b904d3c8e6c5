import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reservePort } from './reserved-port.ts';
import { until } from './until.ts';

const HOST = '127.0.0.1';

export interface Proxy {
  url: string;
  close(): Promise<void>;
}

/**
 * Starts a reverse proxy on this machine.
 * @param forwards whether it appends its client's address to X-Forwarded-For. Proxies do not do that unless they are told to.
 */
export type StartProxy = (upstream: string, options: { forwards: boolean }) => Promise<Proxy>;

/** Of Node alone. As nginx does by default, it sends the upstream's name as Host. */
export const startNodeProxy: StartProxy = async (upstream, { forwards }) => {
  const server = createServer((incoming, answer) => {
    const { host: _, ...headers } = incoming.headers;
    if (forwards) {
      const before = headers['x-forwarded-for'];
      headers['x-forwarded-for'] = [
        ...(before === undefined ? [] : [before]),
        incoming.socket.remoteAddress,
      ].join(', ');
    }
    const outgoing = request(
      upstream + (incoming.url ?? '/'),
      { method: incoming.method, headers },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      },
    );
    outgoing.on('error', () => answer.destroy());
    incoming.pipe(outgoing);
  }).listen(0, HOST);
  await once(server, 'listening');
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

/** Debian installs it where a user who is not root does not look. */
const PATH = `${process.env.PATH}:/usr/sbin`;

export function hasNginx(): boolean {
  try {
    execFileSync('nginx', ['-v'], { env: { PATH }, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export const startNginx: StartProxy = async (upstream, { forwards }) => {
  const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-nginx-'));
  const port = await reservePort();
  const file = join(directory, 'nginx.conf');
  await writeFile(file, nginxConfiguration({ directory, port, upstream, forwards }));
  const child = spawn('nginx', ['-p', directory, '-e', join(directory, 'error.log'), '-c', file], {
    env: { PATH },
    stdio: 'ignore',
  });
  const url = `http://${HOST}:${port}`;
  await until('nginx answers', () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
  return {
    url,
    async close() {
      await end(child);
      await rm(directory, { recursive: true, force: true });
    },
  };
};

function nginxConfiguration({
  directory,
  port,
  upstream,
  forwards,
}: {
  directory: string;
  port: number;
  upstream: string;
  forwards: boolean;
}): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(directory, name)};`,
  );
  return `
    daemon off;
    master_process off;
    pid ${join(directory, 'nginx.pid')};
    events {}
    http {
      access_log off;
      ${temporary.join('\n')}
      server {
        listen ${HOST}:${port};
        location / {
          proxy_pass ${upstream};
          ${forwards ? 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;' : ''}
        }
      }
    }`;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
