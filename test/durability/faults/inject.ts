import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { RowDataPacket } from 'mysql2/promise';
import { redisOptions } from '../../../src/platform/redis.ts';
import type { Dice } from '../dice.ts';
import { type ClusterFaultKind, type FaultKind, isReceiverFault, type PlannedFault } from '../plan.ts';
import type { ReceiverMode } from '../receiver-modes.ts';
import type { ChaosServer } from '../servers.ts';
import type { Installation } from '../service.ts';
import { actHalfWay, killConnections, makeDeadlocks } from './connections.ts';
import { sendHostileFiles } from './hostile-files.ts';
import { makeOld } from './old-rows.ts';

const SECOND = 1_000;
const HOUR_SECONDS = 3_600;
/** Seconds. In the end, the clock jumps back to the right time. */
const CLOCK_JUMPS = [HOUR_SECONDS, -HOUR_SECONDS, 24 * HOUR_SECONDS, -24 * HOUR_SECONDS];

/** A fault as it happened. */
export interface InjectedFault extends PlannedFault {
  /** Milliseconds since 1970, from the start of the fault until everything was running again. */
  start: number;
  end: number;
  /** The number of affected things, if they can be counted. */
  note: string;
  /** When a cluster that had lost its primary took writes again. */
  writableAt?: number;
}

/** Injects a planned fault into the installation, and repairs it when its time is over. */
export async function inject(
  installation: Installation,
  fault: PlannedFault,
  dice: Dice,
): Promise<InjectedFault> {
  const start = Date.now();
  const notWhole = (error: unknown) => ({
    note: `not whole: ${error instanceof Error ? error.message : String(error)}`,
  });
  const ofCluster = faultOfCluster(installation, fault.kind);
  const result = await (ofCluster === undefined
    ? perform(installation, fault, dice).then((note) => ({ note }), notWhole)
    : ofCluster(fault.seconds).then((recovery) => ({ note: '', ...recovery }), notWhole));
  return { ...fault, ...result, start, end: Date.now() };
}

function faultOfCluster({ mysql, redis }: Installation, kind: FaultKind) {
  const faults: ChaosServer['faults'] = { ...mysql.faults, ...redis.faults };
  if (kind === 'mysql primary and redis kill') {
    return async (seconds: number) => {
      const [recovery] = await Promise.all([faults['mysql primary kill']?.(seconds), down([redis], seconds)]);
      return recovery;
    };
  }
  return faults[kind as ClusterFaultKind];
}

async function perform(
  installation: Installation,
  { kind, which, seconds }: PlannedFault,
  dice: Dice,
): Promise<string> {
  const { mysql, redis, clock, sql, receivers } = installation;
  if (isReceiverFault(kind)) {
    const mode = kind.slice('receiver '.length) as ReceiverMode;
    const third = thirdOf(installation, which);
    await receivers.change(third, mode);
    await sleep(seconds * SECOND);
    await receivers.change(third, 'normal');
    return '';
  }
  const webhookIds = installation.webhooks.map(({ id }) => id);
  switch (kind) {
    case 'kill api':
    case 'kill maintenance':
      role(installation, kind, which).kill();
      return '';
    case 'kill importer':
    case 'kill delivery': {
      const hold = kind === 'kill importer' ? 'import' : 'delivery';
      return actHalfWay(hold, { sql, webhookIds }, role(installation, kind, which).kill);
    }
    case 'stop api':
    case 'stop importer':
    case 'stop delivery': {
      const stopped = role(installation, kind, which);
      const hold = kind === 'stop delivery' ? 'delivery' : 'import';
      const note = await actHalfWay(hold, { sql, webhookIds }, stopped.stop);
      await sleep(seconds * SECOND);
      stopped.cont();
      return note;
    }
    case 'spin api':
    case 'spin delivery':
      return role(installation, kind, which).spin(seconds);
    case 'redis kill':
    case 'redis outage':
      await down([redis], seconds);
      return '';
    case 'redis frozen':
      await frozen(redis, seconds);
      return '';
    case 'redis flushall':
      return flush(redis.url);
    case 'mysql kill':
    case 'mysql outage':
      await down([mysql], seconds);
      return '';
    case 'mysql frozen':
      await frozen(mysql, seconds);
      return '';
    case 'mysql locked table':
      await lockTable(sql, seconds);
      return '';
    case 'mysql disk full':
      await mysql.disk?.fill();
      await sleep(seconds * SECOND);
      await mysql.disk?.free();
      await mysql.start();
      return '';
    case 'mysql read-only':
      await sql.query('SET GLOBAL read_only = ON');
      await sleep(seconds * SECOND);
      await sql.query('SET GLOBAL read_only = OFF');
      return '';
    case 'redis out of memory':
      await limitMemory(redis.url, 1);
      await sleep(seconds * SECOND);
      await limitMemory(redis.url, 0);
      return '';
    case 'hostile files':
      return sendHostileFiles(installation, seconds);
    case 'old rows':
      return makeOld(installation);
    case 'mysql and redis outage':
      await down([mysql, redis], seconds);
      return '';
    case 'kill connections':
      return `${await killConnections({ sql, seconds, webhookIds })} killed`;
    case 'deadlock import':
      return `${await makeDeadlocks('import', { sql, seconds, webhookIds })} made`;
    case 'deadlock delivery':
      return `${await makeDeadlocks('delivery', { sql, seconds, webhookIds })} made`;
    case 'kill receivers':
      await receivers.kill(seconds);
      return '';
    case 'clock jump': {
      clock.set(CLOCK_JUMPS[dice.whole(0, 3)] ?? 0);
      await sleep(seconds * SECOND);
      const told = await sql.query<RowDataPacket[]>('SELECT NOW(6) AS now').then(
        ([[row]]) => `MySQL says it is ${row?.now}`,
        () => '',
      );
      clock.set(0);
      return told;
    }
    case 'clocks apart': {
      const offset = CLOCK_JUMPS[dice.whole(0, 3)] ?? 0;
      clock.set(offset, 'service');
      await sleep(seconds * SECOND);
      clock.set(0);
      return `the service was ${offset} s ahead of MySQL`;
    }
    default:
      throw new Error('these servers have no such fault');
  }
}

function role({ roles }: Installation, kind: string, which: number) {
  const found = roles.get(`${kind.slice(kind.indexOf(' ') + 1)} ${which}`);
  if (found === undefined) throw new Error(`there is no process for "${kind}" ${which}`);
  return found;
}

/** Every third webhook: some of each customer and some of each sort. */
export const thirdOf = ({ webhooks }: Pick<Installation, 'webhooks'>, third: number): string[] =>
  webhooks.filter((_, index) => (index + Math.floor(index / 6)) % 3 === third).map(({ id }) => id);

async function down(servers: readonly ChaosServer[], seconds: number): Promise<void> {
  await Promise.all(servers.map((server) => server.kill()));
  await sleep(seconds * SECOND);
  await Promise.all(servers.map((server) => server.start()));
}

/** No result of a delivery can be recorded meanwhile. */
async function lockTable(sql: Installation['sql'], seconds: number): Promise<void> {
  const connection = await sql.getConnection();
  try {
    await connection.query('LOCK TABLES deliveries WRITE');
    await sleep(seconds * SECOND);
    await connection.query('UNLOCK TABLES');
  } finally {
    // Also unlocks what is still locked.
    connection.destroy();
  }
}

async function frozen(server: ChaosServer, seconds: number): Promise<void> {
  server.freeze();
  await sleep(seconds * SECOND);
  server.thaw();
  await server.start();
}

const flush = (url: string) =>
  onRedis(url, async (redis) => {
    const keys = await redis.dbsize();
    await redis.flushall();
    return `${keys} keys`;
  });

/** @param bytes 0: no limit. 1: Redis refuses every command that needs memory. */
const limitMemory = (url: string, bytes: number) =>
  onRedis(url, (redis) => redis.config('SET', 'maxmemory', String(bytes)));

async function onRedis<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({ ...redisOptions(url), maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}
