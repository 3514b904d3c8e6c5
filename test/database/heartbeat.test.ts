import { hostname } from 'node:os';
import { expect, it, onTestFinished } from 'vitest';
import { startHeartbeat } from '../../src/database/heartbeat.ts';
import { readProcesses } from '../../src/database/processes.ts';
import { VERSION } from '../../src/platform/config.ts';
import { countRunning } from '../../src/verdict/servers.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

it('the console shows each process with its roles, version and load', async () => {
  const { database } = service.runtime;
  const seen = await readProcesses(database);
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({
    roles: ['api', 'importer'],
    version: VERSION,
    host: hostname(),
    pid: process.pid,
    running: true,
  });
  expect(seen[0]?.memoryMib).toBeGreaterThan(10);
  expect(['api', 'importer', 'delivery'].map((role) => countRunning(seen, role))).toEqual([1, 1, 0]);
});

it('the console no longer lists a process that stops', async () => {
  const { runtime } = service;
  const heartbeat = await startHeartbeat(runtime, ['delivery']);
  expect(countRunning(await readProcesses(runtime.database), 'delivery')).toBe(1);
  await heartbeat.stop();
  expect(countRunning(await readProcesses(runtime.database), 'delivery')).toBe(0);
});

it('the console shows a killed process as gone, and forgets it after an hour', async () => {
  const { runtime } = service;
  const heartbeat = await startHeartbeat(runtime, ['maintenance']);
  onTestFinished(() => heartbeat.stop());
  const age = (minutes: number) =>
    runtime.database.query(
      "UPDATE processes SET seen_at = NOW(6) - INTERVAL ? MINUTE WHERE roles = 'maintenance'",
      [minutes],
    );
  await age(5);
  const gone = (await readProcesses(runtime.database)).find(({ roles }) => roles.includes('maintenance'));
  expect(gone?.running).toBe(false);
  await age(61);
  expect(await readProcesses(runtime.database)).toHaveLength(1);
});
