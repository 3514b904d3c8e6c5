import type { RowDataPacket } from 'mysql2/promise';
import { expect, it } from 'vitest';
import { movement } from '../support/movements.ts';
import { until } from '../support/until.ts';
import { useServiceWithProblems } from './server-problems.ts';

const on = useServiceWithProblems();
const { expectLimit, expectProblem, expectWell, importOne, importAll, readMetrics } = on;

it('a MySQL that is read-only refuses writes, and no process is missed', async () => {
  await on.admin.query('SET GLOBAL read_only = ON');
  try {
    await expectProblem('mysql', 'refuses writes: it is read-only');
    const refused = await importOne();
    expect(refused.status).toBe(503);
    expect(refused.body.detail).toContain('MySQL refuses writes: it is read-only.');
    // Without three heartbeats, a process counts as gone. The embedded user may write.
    await on.admin.query('UPDATE ledgerbell.processes SET seen_at = seen_at - INTERVAL 16 SECOND');
    await expectProblem('mysql', 'refuses writes: it is read-only');
    // The readings from before are kept for a while.
    await until('the metrics do not say that no process runs', async () => {
      const samples = await readMetrics();
      return (
        samples.get('ledgerbell_troubles{kind="mysql",scope="installation"}') === 1 &&
        !samples.has('ledgerbell_processes{role="maintenance"}')
      );
    });
  } finally {
    await on.admin.query('SET GLOBAL read_only = OFF');
  }
  await expectWell();
  expect((await importOne()).status).toBe(202);
});

it('an import that is larger than max_allowed_packet is a 503 that says so, and its Idempotency-Key is free', async () => {
  const [[row]] = await on.admin.query<RowDataPacket[]>('SELECT @@GLOBAL.max_allowed_packet AS bytes');
  await on.admin.query('SET GLOBAL max_allowed_packet = 1048576');
  const words =
    "refuses large imports: max_allowed_packet is 1048576, and must be 16777216 (16M) or more. Run SET GLOBAL max_allowed_packet = 16777216, and set it in MySQL's configuration";
  await expectLimit(words);
  const rows = (count: number) =>
    Array.from({ length: count }, (_, index) => movement(on.account, { unique_id: `packet-${index}` }));
  const sendTwice = async (count: number, key: string) => [
    await importAll(rows(count), key),
    await importAll(rows(count), key),
  ];
  try {
    expect((await importAll(rows(2), 'small')).status).toBe(202);
    // One part, and parts of 1 MiB, which are stored one by one.
    for (const count of [4_500, 12_000]) {
      for (const { status, body } of await sendTwice(count, `large-${count}`)) {
        expect([status, body.detail]).toEqual([
          503,
          expect.stringContaining(
            'MySQL refuses statements of this size: max_allowed_packet must be 16M or more.',
          ),
        ]);
      }
    }
  } finally {
    await on.admin.query(`SET GLOBAL max_allowed_packet = ${row?.bytes}`);
  }
  await expectWell();
  // Connections that keep the old value are replaced.
  await until(
    'a large import is accepted',
    async () => (await importAll(rows(12_000), 'large-12000')).status === 202,
  );
});
