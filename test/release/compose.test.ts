import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

/** Variables that containers do not take: what they need of servers, folders and roles is in the compose file itself. */
const OF_OTHERS = ['DATA_DIR', 'EMBEDDED', 'EMBEDDED_INSTALL', 'PROCESSES'];

interface Compose {
  services: Record<string, { environment?: Record<string, unknown>; volumes?: string[] }>;
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
