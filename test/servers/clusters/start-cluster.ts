import { chmod } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { findFirst, provide } from '../../../src/servers/embedded/provision.ts';
import { installServer } from '../install.ts';
import { startGalera } from './galera.ts';
import { startGroupReplication } from './group-replication.ts';
import type { DatabaseCluster } from './node.ts';

export const CLUSTERS = ['group-replication', 'galera'] as const;

export type ClusterName = (typeof CLUSTERS)[number];

export const isClusterName = (name: string): name is ClusterName =>
  (CLUSTERS as readonly string[]).includes(name);

/**
 * The cluster that fits the server of this suite: Group Replication for MySQL, and Galera for the MariaDB that is installed on this
 * machine. null: none does.
 */
export async function findClusterOfSuite(): Promise<ClusterName | null> {
  const { mysql } = await provide({ mysql: true, redis: false, install: 'auto', announce: () => {} });
  if (mysql === undefined || mysql === 'docker') return null;
  if (mysql.flavor === 'mysql') return 'group-replication';
  // Galera's library belongs to the MariaDB of the same packages.
  return mysql.server.startsWith('/usr/') ? 'galera' : null;
}

/**
 * Starts three servers as a cluster, and installs what is missing.
 * @param directory empty; has their data and logs.
 */
export async function startCluster(
  name: ClusterName,
  directory: string,
  { announce }: { announce: (line: string) => void },
): Promise<DatabaseCluster> {
  // The servers run with accounts of their own.
  await chmod(directory, 0o711);
  if (name === 'group-replication') {
    const installed = await installServer('mysql-9', { announce, signal: new AbortController().signal });
    return startGroupReplication(directory, { mysqld: join(installed, 'bin', 'mysqld') });
  }
  process.env.PATH = [process.env.PATH, '/usr/sbin'].join(delimiter);
  const { mysql } = await provide({ mysql: true, redis: false, install: 'auto', announce });
  const installer = await findFirst(['mariadb-install-db']);
  if (mysql === undefined || mysql === 'docker' || mysql.flavor !== 'mariadb' || installer === null)
    throw new Error('Galera needs MariaDB as a program.');
  return startGalera(directory, { mariadbd: mysql.server, installer });
}
