import { expect, it } from 'vitest';
import { findClusterOfSuite } from '../servers/clusters/start-cluster.ts';
import { faultKindsOf } from './plan.ts';
import { run } from './run.ts';

const MINUTE = 60_000;

/** On MySQL, the cluster is Group Replication; on MariaDB, Galera. */
const name = await findClusterOfSuite();

/** The same as `npm run chaos -- --mysql group-replication` or `--mysql galera`, with shorter outages. */
it.skipIf(name === null)(
  `the service loses nothing while a primary of its ${name} cluster is lost, and processes, Redis and receivers fail too`,
  async ({ signal }) => {
    const said: string[] = [];
    const mysql = name ?? 'alone';
    const { table, findings } = await run({
      seed: 20_261_126,
      minutes: 1,
      mysql,
      kinds: faultKindsOf({ mysql, redis: 'alone' }),
      gap: 2.5,
      rate: 30,
      waitLimit: 120,
      keep: false,
      announce: (line) => said.push(line),
      signal,
    });
    expect(findings, `\n${[...findings, ...said, table].join('\n')}`).toEqual([]);
  },
  8 * MINUTE,
);
