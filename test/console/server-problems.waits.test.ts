import { once } from 'node:events';
import mysql, { type Connection, type RowDataPacket } from 'mysql2/promise';
import { expect, it, vi } from 'vitest';
import { runCli, spawnCli } from '../cli/command.ts';
import { until } from '../support/until.ts';
import { useServiceWithProblems } from './server-problems.ts';

const on = useServiceWithProblems();
const { expectProblem, expectWell, importOne, readMetrics, readPage, readReadiness, readStatus, logged } = on;

const waits =
  'waits for a lock of another session (ALTER TABLE, LOCK TABLES, a backup or a long transaction)';

const TROUBLE = 'ledgerbell_troubles{kind="mysql",scope="installation"}';

it('locked movements are said everywhere, and nothing says that nothing is accepted', async () => {
  await on.admin.query('LOCK TABLES ledgerbell.transactions WRITE');
  try {
    await expectProblem('mysql', waits);
    await until('the metrics count it', async () => {
      const samples = await readMetrics();
      // The readings from before the lock are kept for a while.
      return samples.get(TROUBLE) === 1 && !samples.has('ledgerbell_processes{role="maintenance"}');
    });
    expect((await readPage()).text).not.toContain('Nothing is accepted');
    expect(JSON.stringify(await readStatus())).not.toContain('Nothing is accepted');
  } finally {
    await on.admin.query('UNLOCK TABLES');
  }
  await expectWell();
});

it('a table that another session has locked is named as what it is', async () => {
  await on.admin.query('LOCK TABLES ledgerbell.webhook_cursors WRITE');
  try {
    await until('the console says it', async () =>
      (await readPage()).text.includes(`<h1>Not well: MySQL ${waits}.`),
    );
    expect((await readStatus()).problems).toEqual([`MySQL ${waits}.`]);
    const webhooks = await readPage('/ops/webhooks');
    expect([webhooks.status, webhooks.type]).toEqual([503, 'text/html; charset=UTF-8']);
    expect(webhooks.text).toContain(`MySQL ${waits}`);
  } finally {
    await on.admin.query('UNLOCK TABLES');
  }
  await expectWell();
});

it('a backup that holds all tables is named as what it is as long as it lasts, also under load', async () => {
  await on.admin.query('FLUSH TABLES WITH READ LOCK');
  let answered = 0;
  const load = setInterval(() => void importOne().then(() => (answered += 1)), 50);
  const states = new Set<string>();
  const headlines = new Set<string>();
  try {
    await until('/readyz says it', async () => (await readReadiness()).mysql === waits);
    // By then, the imports have had all connections, and have waited for them in vain.
    await until('many imports have been answered', async () => {
      states.add((await readReadiness()).mysql);
      headlines.add(/<h1>(.*?)<\/h1>/s.exec((await readPage()).text)?.[1] ?? 'none');
      return answered >= 100;
    });
    expect([...states]).toEqual([waits]);
    expect([...headlines]).toEqual([`Not well: MySQL ${waits}.`]);
    expect((await readStatus()).problems).toEqual([`MySQL ${waits}.`]);
  } finally {
    clearInterval(load);
    await on.admin.query('UNLOCK TABLES');
  }
  await expectWell();
});

it.each([['status'], ['status', '--offline']])(
  '%s %s ends within its time, whatever MySQL does',
  async (...args) => {
    on.servers.mysql.freeze();
    try {
      const { code, stdout } = await runCli(args, on.environment);
      expect(code).toBe(1);
      expect(stdout).toMatch(/^Not well: MySQL does not answer\./);
      await until('the metrics count it', async () => (await readMetrics()).get(TROUBLE) === 1);
    } finally {
      on.servers.mysql.thaw();
    }
    await expectWell();
  },
);

it('status --offline ends on a signal while MySQL does not answer', async () => {
  on.servers.mysql.freeze();
  try {
    for (const [signal, exitCode] of [
      ['SIGTERM', 143],
      ['SIGINT', 130],
    ] as const) {
      const child = spawnCli(['status', '--offline'], on.environment);
      // Sent again, because the command may not listen yet.
      const nagging = setInterval(() => child.kill(signal), 500);
      const [ended, killedBy] = await once(child, 'exit');
      clearInterval(nagging);
      expect(killedBy === signal ? exitCode : ended).toBe(exitCode);
    }
  } finally {
    on.servers.mysql.thaw();
  }
  await expectWell();
});

it('a MySQL without a free connection is named as what it is', async () => {
  const [[row]] = await on.admin.query<RowDataPacket[]>('SELECT @@GLOBAL.max_connections AS most');
  const [[used]] = await on.admin.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Threads_connected'");
  await on.admin.query(`SET GLOBAL max_connections = ${Math.max(10, Number(used?.Value))}`);
  const guests: Connection[] = [];
  const takesNoMore = 'takes no more connections: all of them are in use (max_connections)';
  try {
    for (;;) {
      const guest = await mysql.createConnection(on.environment.DATABASE_URL as string).catch(() => null);
      if (guest === null) break;
      guests.push(guest);
    }
    // The service has its connections already.
    expect((await readStatus('--offline')).problems).toEqual([`MySQL ${takesNoMore}.`]);
  } finally {
    for (const guest of guests) guest.destroy();
    await on.admin.query(`SET GLOBAL max_connections = ${row?.most}`);
  }
  await expectWell();
});

it('a clock that differs from that of MySQL is a warning', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
  const behind = /The clock of .* is 3\d\d\d s behind MySQL/;
  try {
    await until('the console says it', async () => behind.test((await readPage()).text));
    const ahead = (await readMetrics()).get('ledgerbell_clock_ahead_seconds') ?? 0;
    expect(ahead).toBeGreaterThan(-3_700);
    expect(ahead).toBeLessThan(-3_599);
    expect((await readStatus()).problems).toEqual([expect.stringMatching(behind)]);
    expect(logged.join('')).toMatch(/"level":40,.*The clock of this process is 3\d\d\d s behind MySQL's\./);
    expect((await readReadiness()).code).toBe(200);
  } finally {
    vi.useRealTimers();
  }
  await expectWell();
});
