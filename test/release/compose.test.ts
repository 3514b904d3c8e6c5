import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { findGoProgram } from '../support/go-program.ts';
import { INSTALL_TIMEOUT, runProgram } from '../support/installed-program.ts';

/**
 * Variables that containers do not get, because the compose file itself sets servers, folders and roles, and its Prometheus speaks plain HTTP.
 */
const OF_OTHERS = [
  ...['DATA_DIR', 'EMBEDDED', 'EMBEDDED_INSTALL', 'OPS_TLS_CERT_FILE', 'OPS_TLS_KEY_FILE', 'PROCESSES'],
];

interface Compose {
  services: Record<string, { environment?: Record<string, unknown>; volumes?: string[]; logging?: unknown }>;
}

it('docker-compose.yml passes every variable that docs/configuration.md documents', () => {
  const [table = ''] = readFileSync('docs/configuration.md', 'utf8').split('## Secrets in files');
  const documented = [...table.matchAll(/^\| (`[A-Z].*?) \|/gm)].flatMap(([, names = '']) =>
    [...names.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name = '']) => name),
  );
  expect(documented.length).toBeGreaterThan(20);
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as Compose;
  // A secret is in a file.
  const passed = Object.keys(services.api?.environment ?? {}).map((name) => name.replace(/_FILE$/, ''));
  expect(documented.filter((name) => !passed.includes(name)).toSorted()).toEqual(OF_OTHERS);
  // These five configure the listener of the API, which the other roles do not have.
  for (const role of ['importer', 'delivery', 'maintenance']) {
    const own = Object.keys(services[role]?.environment ?? {}).map((name) => name.replace(/_FILE$/, ''));
    expect(
      passed.filter((name) => !own.includes(name)),
      role,
    ).toEqual(['HOST', 'PORT', 'TRUSTED_PROXIES', 'QUEUE_DASHBOARD', 'RATE_LIMIT']);
  }
});

it('docker-compose.yml limits the log of each container', () => {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as Compose;
  for (const [name, { logging }] of Object.entries(services))
    expect([name, logging]).toEqual([
      name,
      { driver: 'json-file', options: { 'max-size': '50m', 'max-file': '5' } },
    ]);
});

/** Loads the file with the code of the Compose specification, which refuses whatever the specification does not have. */
describe('docker-compose.yml, as Compose reads it', () => {
  let program: string | null = null;
  beforeAll(async () => {
    program = await findGoProgram('compose', 'docker-compose.yml is not validated');
  }, INSTALL_TIMEOUT);

  interface Service {
    networks: Record<string, unknown>;
    secrets?: { source: string }[];
    read_only?: boolean;
    cap_drop?: string[];
    security_opt?: string[];
    container_name?: string;
    ports?: unknown[];
    deploy?: { resources: { limits: { memory: string; pids: number } } };
  }
  const load = () => {
    const { code, output } = runProgram(program ?? '', ['-format', 'json', 'docker-compose.yml']);
    expect(code, output).toBe(0);
    return JSON.parse(output) as {
      services: Record<string, Service>;
      networks: Record<string, { internal?: boolean }>;
      secrets: Record<string, { file: string }>;
    };
  };

  it('keeps MySQL and Redis in a network without access to the outside', ({ skip }) => {
    if (program === null) skip();
    const { services, networks } = load();
    expect(networks.servers?.internal).toBe(true);
    const outside = Object.entries(services).filter(([, it]) => 'outside' in it.networks);
    expect(outside.map(([name]) => name).filter((name) => /mysql|redis/.test(name))).toEqual([]);
    for (const name of ['mysql', 'redis'])
      expect(Object.keys(services[name]?.networks ?? {})).toEqual(['servers']);
  });

  it('gives each container limits, no capabilities and a read-only root file system', ({ skip }) => {
    if (program === null) skip();
    for (const [name, it] of Object.entries(load().services)) {
      expect([name, it.read_only, it.cap_drop, it.security_opt]).toEqual([
        name,
        true,
        ['ALL'],
        ['no-new-privileges:true'],
      ]);
      expect(it.deploy?.resources.limits, name).toEqual({
        memory: expect.stringMatching(/^[1-9]\d*[MG]$/),
        pids: expect.any(Number),
      });
    }
  });

  it('can run several containers of each role except the api, whose port is published', ({ skip }) => {
    if (program === null) skip();
    const { services } = load();
    for (const role of ['importer', 'delivery', 'maintenance'])
      expect([role, services[role]?.ports, services[role]?.container_name]).toEqual([
        role,
        undefined,
        undefined,
      ]);
  });

  it('has secrets made by make-secrets.sh, which keeps them when it runs again', async ({ skip }) => {
    if (program === null) skip();
    const folder = await mkdtemp(join(tmpdir(), 'ledgerbell-secrets-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const make = () => {
      expect(runProgram('sh', ['ops/docker/make-secrets.sh', folder])).toEqual({ code: 0, output: '' });
      return Object.values(load().secrets).map(({ file }) =>
        readFileSync(join(folder, basename(file)), 'utf8'),
      );
    };
    const made = make();
    expect(new Set(made).size).toBe(made.length);
    expect(make()).toEqual(made);
  });
});
