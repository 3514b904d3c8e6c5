import { describe, expect, it } from 'vitest';
import {
  isOlder,
  raiseMinimumVersion,
  requireMinimumVersion,
  requireNoOlderProcess,
} from '../../src/database/migrations/minimum-version.ts';
import { VERSION } from '../../src/platform/config.ts';
import { useDatabase } from '../support/database.ts';

const { database } = useDatabase();

it.each([
  ['1.2.3', '1.2.3', false],
  ['1.2.3', '1.2.4', true],
  ['1.2.10', '1.2.9', false],
  ['1.9.9', '2.0.0', true],
  ['2.0.0', '1.9.9', false],
  ['0.0.0', '0.1.0', true],
])('isOlder compares version %s with %s: %s', (one, other, expected) => {
  expect(isOlder(one, other)).toBe(expected);
});

describe('the minimum version of the schema', () => {
  it('is not below the first release, and allows this version', async () => {
    await expect(requireMinimumVersion(database, '0.9.0')).rejects.toThrow('needs 1.0.0 or later');
    await requireMinimumVersion(database, VERSION);
  });

  it('only grows, and refuses an older version', async () => {
    await raiseMinimumVersion(database, '3.0.0');
    await raiseMinimumVersion(database, '2.0.0');
    await expect(requireMinimumVersion(database, '2.9.0')).rejects.toThrow('needs 3.0.0 or later');
    await requireMinimumVersion(database, '3.0.0');
    await requireMinimumVersion(database, '3.1.0');
  });

  it('is not raised while a process of an older version runs', async () => {
    await database.query(
      `INSERT INTO processes (id, roles, version, host, pid, time_zone_offset, cpu_percent, loop_delay_ms, memory_mib)
       VALUES ('old', 'delivery', '3.5.0', 'worker-1', 4711, '+03', 0, 0, 0)`,
    );
    await requireNoOlderProcess(database, '3.5.0');
    await expect(requireNoOlderProcess(database, '4.0.0')).rejects.toThrow(
      'Stop these processes first: 3.5.0 (process 4711 on worker-1).',
    );
    await database.query('UPDATE processes SET seen_at = NOW(6) - INTERVAL 1 MINUTE');
    await requireNoOlderProcess(database, '4.0.0');
  });
});
