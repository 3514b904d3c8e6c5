import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { onConnection } from '../../src/database/connection.ts';
import { isRetryableLockError } from '../../src/database/errors.ts';
import { startHeartbeat } from '../../src/database/heartbeat.ts';
import { endSessionsOfLost } from '../../src/database/processes/end-sessions.ts';
import { useOwnService } from '../support/service.ts';

const service = useOwnService({ because: 'sessions of its processes are ended', roles: ['api'] });
const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);

const TOUCH = 'UPDATE write_checks SET written_at = NOW(6) WHERE id = 9';

it('the sessions of a frozen process are ended, so that its locks are free, and it goes on when it comes back', async () => {
  const { database, log } = service.runtime;
  await query('INSERT INTO write_checks (id, written_at) VALUES (9, NOW(6))');
  const fixture = join(import.meta.dirname, 'frozen.fixture.ts');
  const frozen = spawn(
    process.execPath,
    ['--import', 'tsx', fixture, service.runtime.config.databaseUrl ?? ''],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  onTestFinished(() => void frozen.kill('SIGKILL'));
  const lines = createInterface({ input: frozen.stdout });
  expect(await once(lines, 'line')).toEqual(['held']);
  frozen.kill('SIGSTOP');

  const [own] = await query<{ id: string }>("SELECT id FROM processes WHERE name = ''");
  const ownId = own?.id ?? '';
  const look = () => endSessionsOfLost(database, ownId, log);
  const isLocked = () => query(TOUCH).then(() => false, isRetryableLockError);
  await query("UPDATE processes SET seen_at = NOW(6) - INTERVAL 13 SECOND WHERE name = 'frozen'");
  await query('UPDATE processes SET steady_since = NOW(6) WHERE id = ?', ownId);
  await look();
  // This process has been here for too short a time to judge.
  expect(await isLocked()).toBe(true);
  await query('UPDATE processes SET steady_since = NOW(6) - INTERVAL 1 MINUTE WHERE id = ?', ownId);
  await look();
  expect(await isLocked()).toBe(false);
  expect(await query("SELECT sessions FROM processes WHERE name = 'frozen'")).toEqual([{ sessions: '' }]);

  const lost = once(lines, 'line');
  frozen.kill('SIGCONT');
  expect(await lost).toEqual(['lost']);
});

it('a session is not ended if only its id is that of a lost process, as after a restart of the server', async () => {
  const { database, log } = service.runtime;
  await onConnection(database, async (sql) => {
    const [{ id } = { id: 0 }] = await sql.query<{ id: number }[]>('SELECT CONNECTION_ID() AS id');
    await query(
      `INSERT INTO processes (id, name, roles, version, host, pid, time_zone_offset, cpu_percent, loop_delay_ms, memory_mib, sessions, seen_at)
       VALUES ('other', 'other', 'delivery', '1.0.0', 'x', 1, '+00:00', 0, 0, 0, ?, NOW(6) - INTERVAL 1 MINUTE)`,
      `${id}:1`,
    );
    const [own] = await query<{ id: string }>("SELECT id FROM processes WHERE name = ''");
    await query('UPDATE processes SET steady_since = NOW(6) - INTERVAL 1 MINUTE WHERE id = ?', own?.id);
    await endSessionsOfLost(database, own?.id ?? '', log);
    expect(await sql.query('SELECT 1 AS one')).toHaveLength(1);
  });
});

it('the heartbeat names the sessions of its process', async () => {
  const heartbeat = await startHeartbeat(service.runtime, ['delivery'], 'named');
  onTestFinished(() => heartbeat.stop());
  const [row] = await query<{ sessions: string }>("SELECT sessions FROM processes WHERE name = 'named'");
  expect(row?.sessions).toMatch(/^\d+:(\d+|localhost)(,\d+:(\d+|localhost))*$/);
});

it('the server ends a session that idles for too long by itself', async () => {
  const [limits] = await query<{ wait: string }>('SELECT @@wait_timeout AS wait');
  expect(Number(limits?.wait)).toBe(30);
});
