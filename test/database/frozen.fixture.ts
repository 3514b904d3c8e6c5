import { createDataSource } from '../../src/database/data-source.ts';
import { startHeartbeat } from '../../src/database/heartbeat.ts';
import { tryTransaction } from '../../src/database/transaction.ts';
import { readConfig } from '../../src/platform/config.ts';
import { createDnsWatch } from '../../src/platform/dns-watch.ts';
import { createLog } from '../../src/platform/log.ts';

/** A process that writes its heartbeat, and keeps the lock of a row until it is ended. It writes a line when it has the lock, and when it has lost it. */

const [, , url = ''] = process.argv;

const database = await createDataSource(url).initialize();
const say = (line: string) => process.stdout.write(`${line}\n`);

const held = tryTransaction(database, async (sql) => {
  await sql.query('UPDATE write_checks SET written_at = NOW(6) WHERE id = 9');
  await startHeartbeat(
    {
      config: readConfig({}),
      database,
      log: createLog('silent'),
      prefix: '',
      claimPrefix: async () => null,
      dns: createDnsWatch(),
      health: async () => ({
        mysql: 'ok',
        redis: 'ok',
        mysqlLimit: null,
        mysqlRoundTrip: null,
        redisRoundTrip: null,
        clockAhead: null,
      }),
    },
    ['delivery'],
    'frozen',
  );
  say('held');
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    await sql.query('SELECT 1');
  }
});
await held.catch(() => say('lost'));
process.exit(0);
