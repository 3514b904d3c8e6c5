import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startHeartbeat } from '../../src/database/heartbeat.ts';
import { readInstallationId } from '../../src/database/processes/installation.ts';
import { openRuntime } from '../../src/database/runtime.ts';
import { readVerdict } from '../../src/verdict/verdict.ts';
import { createDatabase } from '../support/database.ts';
import { useOwnService } from '../support/service.ts';

const service = useOwnService({ because: 'a second installation has the same Redis', roles: ['api'] });

/** Opens the runtime of another installation, with a database of its own, in the Redis of the first. */
async function openOther(prefix: string) {
  const { config } = service.runtime;
  const other = await createDatabase();
  onTestFinished(() => other.drop());
  const said: string[] = [];
  const { redisUrl = '', secretKey = '' } = config;
  const opening = openRuntime(
    { ...config, databaseUrl: other.url },
    { databaseUrl: other.url, redisUrl, secretKey },
    {
      ...{ log: pino({ level: 'silent' }), announce: (line: string) => void said.push(line) },
      ...({ migrations: 'expect', prefix, startTimeout: 1_000 } as const),
    },
  );
  return { opening, said };
}

it('a second installation with the prefix of a first one does not start, and says what to do', async () => {
  const { prefix } = service.runtime;
  const id = await readInstallationId(service.runtime.database);
  const { opening, said } = await openOther(prefix);
  await expect(opening).rejects.toThrow(
    `This Redis is used by another installation, too (${id}), with the prefix ${prefix}: set REDIS_PREFIX of one of them.`,
  );
  expect(said).toContainEqual(expect.stringContaining('Waiting for Redis: This Redis is used'));
});

it('it starts with another prefix, and beside processes of its own installation', async () => {
  const { opening } = await openOther(`${service.runtime.prefix}-2`);
  const runtime = await opening;
  onTestFinished(() => runtime.close());
  expect(await runtime.claimPrefix()).toBeNull();
  expect(await service.runtime.claimPrefix()).toBeNull();
});

it('a process that finds another installation in its Redis says so in its heartbeat and the verdict', async () => {
  const { redis, prefix, database } = service.runtime;
  await redis.set(`${prefix}:installation`, 'ffffffffffffffff', 'PX', 60_000);
  onTestFinished(() => void redis.del(`${prefix}:installation`));
  const heartbeat = await startHeartbeat(service.runtime, ['delivery'], 'delivery-1');
  onTestFinished(() => heartbeat.stop());
  const { troubles } = await readVerdict(database, { mysql: 'ok', redis: 'ok', hostProblems: [] });
  expect(troubles.map(({ sentence }) => sentence)).toContainEqual(
    expect.stringMatching(
      /^Redis is used by another installation, too \(ffffffffffffffff\).*set REDIS_PREFIX/,
    ),
  );
});
