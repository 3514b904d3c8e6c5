import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RowDataPacket } from 'mysql2/promise';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { openRuntime } from '../../src/database/runtime.ts';
import { readConfig } from '../../src/platform/config.ts';
import { useServiceWithProblems } from './server-problems.ts';

const on = useServiceWithProblems();
const { expectProblem, expectWell } = on;

it('a Redis that is out of memory refuses writes', async () => {
  await on.redisAdmin.config('SET', 'maxmemory-policy', 'noeviction');
  await on.redisAdmin.config('SET', 'maxmemory', '1');
  try {
    await expectProblem('redis', 'is out of memory and refuses writes (maxmemory)');
  } finally {
    await on.redisAdmin.config('SET', 'maxmemory', '0');
  }
  await expectWell();
});

it('a Redis that is frozen does not answer', async () => {
  on.servers.redis.freeze();
  try {
    await expectProblem('redis', 'does not answer');
  } finally {
    on.servers.redis.thaw();
  }
  await expectWell();
});

it('a Redis that cannot save refuses writes', async () => {
  const readSetting = async (name: string) =>
    String(((await on.redisAdmin.config('GET', name)) as string[])[1]);
  const save = await readSetting('save');
  const snapshot = join(await readSetting('dir'), await readSetting('dbfilename'));
  await rm(snapshot, { force: true });
  // Redis moves a finished snapshot to this path.
  await mkdir(snapshot);
  await on.redisAdmin.config('SET', 'save', '3600 1');
  await on.redisAdmin.bgsave();
  try {
    await expectProblem('redis', 'refuses writes: it cannot save to its disk (MISCONF)');
  } finally {
    await rm(snapshot, { recursive: true });
    await on.redisAdmin.config('SET', 'save', save);
    await on.redisAdmin.bgsave();
  }
  await expectWell();
});

it('a start warns of a max_allowed_packet that is too small, and of a Redis that evicts', async () => {
  const [[row]] = await on.admin.query<RowDataPacket[]>('SELECT @@GLOBAL.max_allowed_packet AS bytes');
  await on.admin.query('SET GLOBAL max_allowed_packet = 4194304');
  await on.redisAdmin.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const lines: string[] = [];
  try {
    const runtime = await openRuntime(
      readConfig(on.environment),
      {
        databaseUrl: on.environment.DATABASE_URL ?? '',
        redisUrl: on.servers.redis.url,
        secretKey: on.environment.SECRET_KEY ?? '',
      },
      {
        log: pino({}, { write: (line: string) => void lines.push(line) }),
        announce: () => {},
        migrations: 'expect',
      },
    );
    // The first heartbeat looks.
    await runtime.health();
    await runtime.close();
  } finally {
    await on.admin.query(`SET GLOBAL max_allowed_packet = ${row?.bytes}`);
    await on.redisAdmin.config('SET', 'maxmemory-policy', 'noeviction');
  }
  expect(lines.filter((line) => /"level":[45]0/.test(line)).map((line) => JSON.parse(line).msg)).toEqual([
    expect.stringMatching(/^Redis has maxmemory-policy allkeys-lru: .*noeviction\.$/),
    expect.stringMatching(/^MySQL refuses large imports: max_allowed_packet is 4194304, .*16777216 \(16M\)/),
  ]);
});
