import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runServer } from '../../../src/servers/embedded/child.ts';
import { type MysqlBinaries, prepareMysql } from '../../../src/servers/embedded/mysql.ts';
import { findMysql } from '../../../src/servers/embedded/provision.ts';
import { findInstalled } from '../cache.ts';
import { as, ask } from './clients.ts';
import { temporaryDirectory } from './directory.ts';

/** Finds a server of this flavor: the one that would be embedded here, or the one that `npm run test:on` has installed. */
async function find(flavor: MysqlBinaries['flavor']): Promise<MysqlBinaries | null> {
  const installed = findInstalled(flavor === 'mysql' ? 'mysql-9' : 'mariadb-11.8');
  const found = [await findMysql(), installed === null ? null : await findMysql(join(installed, 'bin'))];
  return found.find((binaries) => binaries?.flavor === flavor) ?? null;
}

for (const [flavor, product] of [
  ['mysql', 'MySQL'],
  ['mariadb', 'MariaDB'],
] as const) {
  const binaries = await find(flavor);
  if (binaries === null) {
    console.error(
      `Skipped: the embedded ${product}, which this machine does not have. npm run test:mysql brings MySQL.`,
    );
  }

  test.skipIf(binaries === null)(
    `an embedded ${product} keeps its data, accepts only its own user, and reports no problem with its settings`,
    async () => {
      if (binaries === null) return;
      const dataDir = await temporaryDirectory();
      const start = async () => {
        const settings = { binaries, socket: join(dataDir, 'mysql.sock'), password: 'secret' };
        const server = await runServer(dataDir, await prepareMysql(dataDir, settings), {
          announce: () => {},
        });
        onTestFinished(() => server.stop());
        return server;
      };

      const first = await start();
      const [row] = await ask(first.url, 'SELECT VERSION() AS version, DATABASE() AS name');
      expect(row).toEqual({ version: expect.any(String), name: 'ledgerbell' });
      expect(String(row?.version).includes('MariaDB')).toBe(flavor === 'mariadb');
      await ask(first.url, 'CREATE TABLE kept (id INT); INSERT INTO kept VALUES (7)');
      for (const user of ['root', '', 'mysql.session']) {
        await expect(ask(as(first.url, user, ''), 'SELECT 1'), `user "${user}"`).rejects.toThrow(
          /Access denied|Account is locked/,
        );
      }
      await first.stop();

      const second = await start();
      expect(await ask(second.url, 'SELECT id FROM kept')).toEqual([{ id: 7 }]);
      const log = await readFile(join(dataDir, 'mysql.log'), 'utf8');
      const complaints = /\[ERROR\]|unknown (variable|option)|(variable|option|syntax) .*deprecated/i;
      expect(log.split('\n').filter((line) => complaints.test(line))).toEqual([]);
    },
  );
}
