import { existsSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { findLocalTokens } from '../../src/servers/local-token.ts';
import { childrenOf } from '../support/child-processes.ts';
import type { ServiceProcess } from '../support/process.ts';
import { useServers, useServiceProcesses } from '../support/service-processes.ts';
import { until } from '../support/until.ts';

const { start, newDirectory } = useServiceProcesses();
const servers = useServers();

interface Health {
  status: string;
  processes: { name: string; status: string }[];
}

async function readHealth(service: ServiceProcess): Promise<Health> {
  return (await (await fetch(`${await service.opsUrl()}/healthz`)).json()) as Health;
}

const untilAllAnswer = (service: ServiceProcess) =>
  until('all processes answer', async () => (await readHealth(service)).status === 'ok');

async function readMetrics(service: ServiceProcess): Promise<string> {
  const page = await fetch(`${await service.opsUrl()}/metrics`, { headers: await service.signIn() });
  return page.text();
}

describe('a service in several processes', () => {
  let service: ServiceProcess;
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await newDirectory();
    service = start({ ...servers, PROCESSES: '2', LOG_LEVEL: 'info', DATA_DIR: dataDir });
    await service.url();
  });

  it('lists its processes, and has one health check for all', async () => {
    expect(service.said).toContain(
      'Ledgerbell is running: api, importer, delivery, maintenance (api-1, delivery-1)',
    );
    expect(service.said).toContain('\n  Times    have the offset +03 (TIME_ZONE_OFFSET)\n');
    expect(await readHealth(service)).toMatchObject({
      status: 'ok',
      processes: [
        { name: 'api-1', status: 'ok' },
        { name: 'delivery-1', status: 'ok' },
      ],
    });
    expect(childrenOf(service.child.pid)).toHaveLength(2);
  });

  it('passes the requests of operators on to a process with the role api', async () => {
    const [record] = findLocalTokens({ dataDir, runtimeDirs: [] });
    const headers = { authorization: `Bearer ${record?.token}`, 'content-type': 'application/json' };
    expect(record?.url).toBe(await service.opsUrl());
    const made = await fetch(`${record?.url}/v1/customers`, {
      ...{ method: 'POST', headers, body: JSON.stringify({ name: 'Geçirilen' }) },
    });
    expect(await made.json()).toMatchObject({ created: true, api_key: expect.stringMatching(/^lb_/) });
    const document = await fetch(`${record?.url}/openapi.json`);
    expect(await document.json()).toMatchObject({ info: { title: 'Ledgerbell for operators' } });
  });

  it('serves the metrics of all processes on one page, each with the name of its process', async () => {
    const page = await readMetrics(service);
    for (const name of ['supervisor', 'api-1', 'delivery-1'])
      expect(page).toMatch(new RegExp(`^process_resident_memory_bytes\\{process="${name}"\\} \\d+`, 'm'));
    expect(page).toMatch(/^ledgerbell_attempts_total\{outcome="delivered",process="delivery-1"\} 0$/m);
    expect(page).toMatch(
      /^ledgerbell_attempt_duration_seconds_bucket\{le="0.005",process="delivery-1"\} 0$/m,
    );
    expect(page).toMatch(/^ledgerbell_process_up\{process="api-1"\} 1$/m);
    expect(page.match(/^# TYPE ledgerbell_attempts_total /gm)).toHaveLength(1);
    // A metric of the whole installation, and so without a process.
    expect(page).toMatch(/^ledgerbell_processes\{role="api"\} \d$/m);
  });

  it('shows the names of its processes in the console, and writes them in one log', async () => {
    const page = await fetch(`${await service.opsUrl()}/ops`, { headers: await service.signIn() });
    const html = await page.text();
    for (const name of ['supervisor', 'api-1', 'delivery-1']) expect(html).toContain(`, ${name}`);
    await fetch(`${await service.url()}/healthz`);
    await until('a line of the API in the log', () =>
      /"process":"api-\d".*"route":"\/healthz"/.test(service.said),
    );
  });

  it('restarts each process that is killed, and says so in one line', async () => {
    const [victim = 0, ...others] = childrenOf(service.child.pid);
    const opsUrl = await service.opsUrl();
    process.kill(victim, 'SIGKILL');
    // Before anything else, because it is started again soon.
    await until('it is missed', async () => (await fetch(`${opsUrl}/healthz`)).status === 503);
    await until('it is said', () =>
      /^(api|delivery)-\d ended unexpectedly \(signal SIGKILL\) and is started again in 0.5 s\.$/m.test(
        service.said,
      ),
    );
    await untilAllAnswer(service);
    expect(childrenOf(service.child.pid)).toEqual(expect.arrayContaining(others));
    expect(childrenOf(service.child.pid)).toHaveLength(2);
  });

  it('says that a hanging process does not answer', async () => {
    const [victim = 0] = childrenOf(service.child.pid);
    process.kill(victim, 'SIGSTOP');
    // On a busy machine, the other one may be late too, once.
    await until('it alone does not answer', async () => {
      const { status, processes } = await readHealth(service);
      const silent = processes.filter((it) => it.status === 'does not answer');
      return status === 'not ok' && silent.length === 1;
    });
    expect(await readMetrics(service)).toMatch(/^ledgerbell_process_up\{process="[a-z]+-\d"\} 0$/m);
    process.kill(victim, 'SIGCONT');
    await untilAllAnswer(service);
  });

  it('restarts process by process on SIGHUP, and refuses no request meanwhile', async () => {
    const url = await service.url();
    const before = childrenOf(service.child.pid);
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    let restarted = false;
    const statuses: (number | string | undefined)[] = [];
    const clients = Array.from({ length: 8 }, async () => {
      while (!restarted) statuses.push(await getHealth(url, agent));
    });
    service.child.kill('SIGHUP');
    await until('the restart has ended', () => service.said.includes('The restart has ended.'));
    restarted = true;
    expect(service.said).toMatch(/^No secret has changed in its file\./m);
    await Promise.all(clients);
    agent.destroy();
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(childrenOf(service.child.pid).filter((pid) => before.includes(pid))).toEqual([]);
    await untilAllAnswer(service);
  });

  it('leaves no process behind when the supervisor is killed, and its ports are free again', async () => {
    const url = new URL(await service.url());
    const children = childrenOf(service.child.pid);
    await service.end('SIGKILL');
    await until('all have ended', () => children.every((pid) => !existsSync(`/proc/${pid}`)));
    service = start({ ...servers, PROCESSES: '2', PORT: url.port });
    expect(await service.url()).toBe(url.origin);
    await untilAllAnswer(service);
  });

  it('ends in order on SIGTERM', async () => {
    const children = childrenOf(service.child.pid);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(children.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
  });
});

/** @returns the status, or the code of the error. */
function getHealth(url: string, agent: Agent): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    request(`${url}/healthz`, { agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    })
      .on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      .end();
  });
}
