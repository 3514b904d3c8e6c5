import { parseArgs } from 'node:util';
import { MYSQL_SETUPS, type MysqlSetup, REDIS_SETUPS, type RedisSetup } from './clusters.ts';
import { type FaultKind, faultKindsOf, makePlan } from './plan.ts';
import { run } from './run.ts';

/** `npm run chaos -- --minutes N --seed S --only FAULT[,FAULT]`: injects faults for N minutes, and checks the result. */

const USAGE = `npm run chaos -- [--minutes N] [--seed S] [--only FAULT[,FAULT…]] [--gap SECONDS] [--rate MOVEMENTS_PER_SECOND] [--wait SECONDS] [--mysql ${MYSQL_SETUPS.join('|')}] [--redis ${REDIS_SETUPS.join('|')}] [--processes N] [--keep] [--plan]
  --clusters is --mysql replication --redis sentinel`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    gap: { type: 'string', default: '8' },
    rate: { type: 'string', default: '30' },
    wait: { type: 'string', default: '300' },
    mysql: { type: 'string' },
    redis: { type: 'string' },
    clusters: { type: 'boolean', default: false },
    processes: { type: 'string', default: '' },
    keep: { type: 'boolean', default: false },
    plan: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const mysql = values.mysql ?? (values.clusters ? 'replication' : 'alone');
const redis = values.redis ?? (values.clusters ? 'sentinel' : 'alone');
const isMysqlSetup = (name: string): name is MysqlSetup => (MYSQL_SETUPS as readonly string[]).includes(name);
const isRedisSetup = (name: string): name is RedisSetup => (REDIS_SETUPS as readonly string[]).includes(name);
const setups = isMysqlSetup(mysql) && isRedisSetup(redis) ? { mysql, redis } : null;
const all: readonly FaultKind[] = setups === null ? [] : faultKindsOf(setups);
const isKind = (name: string): name is FaultKind => (all as readonly string[]).includes(name);
const named = values.only.split(',').map((name) => name.trim());
const kinds = values.only === '' ? all : named.filter(isKind);
const [seed, minutes, gap, rate] = [values.seed, values.minutes, values.gap, values.rate].map(Number);
const usable = [seed, minutes, gap, rate].every((it) => it !== undefined && it > 0);
const complete = values.only === '' || kinds.length === named.length;

if (
  values.help ||
  setups === null ||
  !usable ||
  !complete ||
  seed === undefined ||
  minutes === undefined ||
  gap === undefined ||
  rate === undefined
) {
  process.stderr.write(`${USAGE}\n  faults of these servers: ${all.join(', ')}\n`);
  process.exit(values.help ? 0 : 1);
}
if (values.plan) {
  process.stdout.write(`${JSON.stringify(makePlan({ seed, minutes, kinds, gap }), null, 1)}\n`);
  process.exit(0);
}

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
const { clean, table, findings } = await run({
  seed,
  minutes,
  kinds,
  gap,
  rate,
  waitLimit: Number(values.wait),
  ...setups,
  processes: values.processes,
  keep: values.keep,
  announce: (line) => process.stderr.write(`${line}\n`),
  signal: interrupted.signal,
});
process.stdout.write(`\n${table}\n\n${findings.join('\n')}\n`);
process.exit(clean ? 0 : 1);
