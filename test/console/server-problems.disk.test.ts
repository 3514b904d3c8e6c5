import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { useServiceWithProblems } from './server-problems.ts';

const on = useServiceWithProblems();
const { expectProblem, expectWell, importOne } = on;

it('a MySQL whose disk is full refuses writes, also where a small write finds a place', async ({ skip }) => {
  const { disk } = on.servers.mysql;
  if (disk === null) return skip('this user may not mount a disk');
  await disk.fill();
  const load = setInterval(() => void importOne({ description: randomBytes(400).toString('hex') }), 50);
  try {
    await expectProblem('mysql', 'refuses writes: its disk is full');
    const refused = await until('an import is refused', async () => {
      const answer = await importOne({ description: randomBytes(400).toString('hex') });
      return answer.status !== 202 && answer;
    });
    expect(refused.status).toBe(503);
    expect(refused.body.detail).toContain('MySQL refuses writes: its disk is full.');
  } finally {
    clearInterval(load);
    await disk.free();
  }
  await expectWell();
});
