import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { findRunning } from '../src/servers/running-servers.ts';
import { compiled } from './support/compiled.ts';
import { movement } from './support/movements.ts';
import type { ServiceProcess } from './support/process.ts';
import { useReceiver } from './support/receiver.ts';
import { useServiceProcesses } from './support/service-processes.ts';
import { until } from './support/until.ts';
import { webhook } from './support/webhooks.ts';

const receiver = useReceiver();
const { start, newDirectory } = useServiceProcesses();

/** A customer with an account, made by the command line on the running service's servers. */
function newCustomer(dataDir: string) {
  const cli = (...args: string[]) =>
    JSON.parse(
      execFileSync(process.execPath, [compiled('src/cli/main.ts'), ...args, '--json'], {
        env: { PATH: process.env.PATH, DATA_DIR: dataDir },
        encoding: 'utf8',
      }),
    );
  const { customer, api_key: key } = cli('customers', 'create', '--name', 'Süreç');
  const { account } = cli(
    ...[
      'accounts',
      'create',
      '--customer',
      customer.id,
      '--bank',
      'Akbank',
      '--title',
      'Kasa',
      '--currency',
      'TRY',
    ],
  );
  return { key: key as string, accountId: account.id as string };
}

async function call(url: string, key: string, path: string, body?: object) {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { Authentication: key, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    body: (await response.json()) as { import: { id: string }; accounts: unknown[] },
  };
}

describe('npm start', () => {
  it('with a wrong value ends with one line that names the variable, and not its secret', async () => {
    const service = start({ DATABASE_URL: 'postgres://u:hunter2@h/d' });
    expect(await service.ended()).toBe(1);
    expect(service.said).toMatch(/^DATABASE_URL must be a URL such as mysql:[^\n]+\n$/);
    expect(service.said).not.toContain('hunter2');
  });

  it('with --roles does not start private servers when URLs may have been forgotten', async () => {
    const dataDir = await newDirectory();
    const service = start({ DATA_DIR: dataDir }, ['--roles', 'api,importer,delivery,maintenance']);
    expect(await service.ended()).toBe(1);
    expect(service.said).toMatch(/^DATABASE_URL and REDIS_URL must be set: .*EMBEDDED=auto.*\n$/);
    expect(await readdir(dataDir)).toEqual([]);
  });

  it('with --roles and EMBEDDED=auto starts private servers', async () => {
    const service = start({ DATA_DIR: await newDirectory(), EMBEDDED: 'auto' }, ['--roles', 'api']);
    const ready = await fetch(`${await service.url()}/readyz`);
    expect(ready.status).toBe(200);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('with an unknown role lists the roles', async () => {
    const service = start({}, ['--roles', 'api,postman']);
    expect(await service.ended()).toBe(1);
    expect(service.said).toMatch(/api, importer, delivery, maintenance.*"postman"/);
  });
});

describe('the running service', () => {
  let dataDir: string;
  let service: ServiceProcess;
  let key: string;
  let accountId: string;

  beforeAll(async () => {
    dataDir = await newDirectory();
    service = start({ DATA_DIR: dataDir, PROCESSES: '2' });
    await service.url();
    ({ key, accountId } = newCustomer(dataDir));
  });

  it('ends within ten seconds of SIGTERM although a receiver hangs, and sends the delivery again after the next start', async () => {
    const url = await service.url();
    receiver.answer('/hangs', () => {});
    await call(url, key, '/v1/webhooks', webhook({ endpoint: `${receiver.url}/hangs` }));
    await call(url, key, '/v1/imports', { transactions: [movement(accountId, { unique_id: 'hanging' })] });
    await until('the POST in flight', () => receiver.at('/hangs').length === 1);
    // Exit code 0 is the orderly end; the process itself ends with 1 when ten seconds are over.
    expect(await service.end('SIGTERM')).toBe(0);
    expect(await findRunning(dataDir)).toBeNull();

    receiver.answer('/hangs', (_, response) => void response.end());
    service = start({ DATA_DIR: dataDir });
    await service.url();
    await until('it arrives', () => receiver.at('/hangs').length === 2);
    const [first, second] = receiver.at('/hangs');
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  });

  it('survives an outage of MySQL and Redis: it answers 503 while they are unreachable, and continues when they are back', async () => {
    const url = await service.url();
    await call(url, key, '/v1/webhooks', webhook({ endpoint: `${receiver.url}/outlives` }));
    const pids = await Promise.all(
      ['mysql', 'redis'].map(
        async (name) => JSON.parse(await readFile(join(dataDir, `${name}.json`), 'utf8')).pid as number,
      ),
    );
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    const answer = await until('an import accepted again', async () => {
      const { status, body } = await call(url, key, '/v1/imports', {
        transactions: [movement(accountId, { unique_id: 'after the fall' })],
      });
      expect([202, 503]).toContain(status);
      return status === 202 && body;
    });
    expect(answer.import.id).toBeDefined();
    await until('its notification', () => receiver.at('/outlives').length === 1, 45_000);
  });

  it.each([
    ['npm start -- --roles importer', ['--roles', 'importer'], 'src/main.ts'],
    ['workers/importer.ts', [], 'workers/importer.ts'],
    ['workers/delivery.ts', [], 'workers/delivery.ts'],
    ['workers/maintenance.ts', [], 'workers/maintenance.ts'],
  ])('is joined by %s, which has a console of its own', async (_command, args, entry) => {
    const { databaseUrl = '', redisUrl = '' } = (await findRunning(dataDir)) ?? {};
    const worker = start(
      {
        DATABASE_URL: databaseUrl,
        REDIS_URL: redisUrl,
        SECRET_KEY: (await readFile(join(dataDir, 'secret.key'), 'utf8')).trim(),
        DATA_DIR: await newDirectory(),
        PORT: new URL(await service.url()).port,
      },
      args,
      entry,
    );
    const url = await worker.opsUrl();
    expect(worker.said).not.toMatch(/ {2}(API|Docs) /);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const console = await fetch(`${url}/ops`, { headers: await worker.signIn() });
    expect(await console.text()).toContain('maintenance');
    // A proxy on this machine that adds no header looks like a browser here.
    expect((await fetch(`${url}/ops`)).status).toBe(401);
    expect((await fetch(`${url}/ops/queues`)).status).toBe(401);
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
    expect(await worker.end('SIGTERM')).toBe(0);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  it('refuses an OPS_PORT that is taken, in one line', async () => {
    const { databaseUrl = '', redisUrl = '' } = (await findRunning(dataDir)) ?? {};
    const { port } = new URL(await service.opsUrl());
    const second = start(
      {
        DATABASE_URL: databaseUrl,
        REDIS_URL: redisUrl,
        SECRET_KEY: (await readFile(join(dataDir, 'secret.key'), 'utf8')).trim(),
        OPS_PORT: port,
      },
      ['--roles', 'maintenance'],
    );
    expect(await second.ended()).toBe(1);
    expect(second.said.trim()).toBe(
      `Ledgerbell cannot start: OPS_PORT ${port} on 127.0.0.1 is taken: set OPS_PORT to another port, or to 0 for any free port.`,
    );
  });

  it('refuses a second start on the same DATA_DIR, and goes on working', async () => {
    const second = start({ DATA_DIR: dataDir });
    expect(await second.ended()).toBe(1);
    expect(second.said).toContain(String(service.child.pid));
    expect((await call(await service.url(), key, '/v1/accounts')).status).toBe(200);
  });

  it('starts again after it was killed', async () => {
    await service.end('SIGKILL');
    service = start({ DATA_DIR: dataDir });
    expect((await call(await service.url(), key, '/v1/accounts')).body.accounts).toHaveLength(1);
  });
});
