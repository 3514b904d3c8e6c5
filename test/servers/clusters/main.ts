import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLUSTERS, isClusterName, startCluster } from './start-cluster.ts';

/**
 * `npm run cluster -- group-replication` or `galera`: starts three database servers as one cluster on this machine, prints how to use
 * them, and ends and removes them when it is interrupted.
 */

const [name = '', ...rest] = process.argv.slice(2);
if (!isClusterName(name) || rest.length > 0) {
  console.error(`npm run cluster -- ${CLUSTERS.join(' | ')}`);
  process.exit(1);
}
const interrupted = new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, resolve);
});
const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-cluster-'));
try {
  const cluster = await startCluster(name, directory, { announce: console.error });
  console.log(`${cluster.title} runs, with its data and logs in ${directory}.
DATABASE_URL=${cluster.url}
Each server as root: ${cluster.nodes.map(({ port, socket }) => `\n  port ${port}: mysql -u root -S ${socket}`).join('')}
Ctrl-C ends and removes it.`);
  await interrupted;
  await cluster.stop();
} finally {
  await rm(directory, { recursive: true, force: true });
}
