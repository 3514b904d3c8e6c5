import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { createOperatorToken } from '../../src/platform/tokens.ts';
import { startService } from '../../src/service.ts';
import { newDataDir } from '../support/data-dir.ts';
import { until } from '../support/until.ts';
import { documentOf, reasonOf, runHere, spawnCli } from './command.ts';
import { answering, useRunningService } from './running-service.ts';

const running = useRunningService();
const { database, receiver, environment, asOperator, createWebhook, newMovement, importMovements } = running;

describe('ledgerbell imports retry', () => {
  it('makes the running service finish a failed import', async () => {
    // The state of an import that was quarantined before its first row was stored.
    const [{ id: keyId = '' } = {}] = await database.query<{ id: string }[]>(
      'SELECT id FROM api_keys WHERE customer_id = ?',
      [running.customer.id],
    );
    const { insertId } = await database.query<{ insertId: number }>(
      "INSERT INTO imports (customer_id, api_key_id, format, status, crash_count, error) VALUES (?, ?, 'ndjson', 'failed', 10, 'x')",
      [running.customer.id, keyId],
    );
    const body = Buffer.from(newMovement());
    await database.query('INSERT INTO import_parts VALUES (?, 0, ?)', [insertId, body]);
    const listed = await asOperator('status', '--json');
    expect(listed.code).toBe(1);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      status: 'not well',
      problems: ['1 import was given up.'],
      imports: { failed: 1 },
      troubles: [{ kind: 'import_given_up', subject: { type: 'import', id: insertId } }],
    });
    const { code, stdout } = await asOperator('imports', 'retry', String(insertId));
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `Import ${insertId} is queued again. It continues after row 0.\n`,
    });
    await until('the import is done', async () => {
      const { import: shown } = documentOf(await asOperator('imports', 'show', String(insertId), '--json'));
      return shown.status === 'done' && shown.inserted === 1;
    });
  });
});

describe('ledgerbell status', () => {
  it.each([[], ['--offline']])(
    '%s says that everything is well, with the running roles',
    async (...way: string[]) => {
      const { code, stdout } = await runHere(['status', ...way, '--json'], environment);
      expect({ code, report: JSON.parse(stdout) }).toMatchObject({
        code: 0,
        report: {
          status: 'well',
          problems: [],
          mysql: 'ok',
          redis: 'ok',
          migrations: 'ok',
          processes: { importer: expect.any(Number), delivery: expect.any(Number) },
          oldest_pending_at: null,
        },
      });
      const shown = await asOperator('status', ...way);
      expect(shown.stdout).toMatch(/^All is well\.\n\nMySQL +ok\nRedis +ok\n/);
    },
  );

  it('names the oldest pending movement, and lists webhooks that need attention without calling them a problem', async () => {
    const failing = await createWebhook('/failing');
    receiver.answer('/failing', answering(500));
    await importMovements(2);
    await until('the failure is recorded', async () => {
      const { code, stdout } = await asOperator('status', '--json');
      const report = JSON.parse(stdout);
      return code === 0 && report.troubles.length === 1 && report.pending === 2 && report;
    });
    const { stdout } = await asOperator('status', '--json');
    const [row] = await database.query<{ oldest: Date }[]>(
      'SELECT date_readed AS oldest FROM transactions ORDER BY id DESC LIMIT 1',
    );
    expect(JSON.parse(stdout)).toMatchObject({
      oldest_pending_at: row?.oldest.toISOString(),
      troubles: [
        {
          kind: 'webhook_failing',
          scope: 'endpoint',
          subject: { type: 'webhook', id: Number(failing), customer: 'Örnek' },
          pending: 2,
          page: `/ops/webhooks/${failing}`,
        },
      ],
    });
    const { code, stdout: shown } = await asOperator('status');
    expect(code).toBe(0);
    expect(shown).toMatch(/^The service is well; 1 endpoint is failing\.\n/);
    expect((await asOperator('webhooks', 'pause', failing)).code).toBe(0);
    expect(JSON.parse((await asOperator('status', '--json')).stdout)).toMatchObject({
      pending: 0,
      held: 2,
      oldest_pending_at: null,
    });
    await asOperator('webhooks', 'delete', failing);
  });

  it('--offline says that MySQL and Redis cannot be reached', async () => {
    const none = {
      ...environment,
      REDIS_URL: 'redis://127.0.0.1:1',
      DATABASE_URL: 'mysql://u:p@127.0.0.1:1/x',
    };
    const { code, stdout, stderr } = await runHere(['status', '--offline'], none);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toMatch(/^Not well: MySQL cannot be reached\. Redis cannot be reached\.\n/);
  });
});

describe('ledgerbell status without a service', () => {
  const remote = (url: string) => ({
    LEDGERBELL_OPS_URL: url,
    LEDGERBELL_OPERATOR_TOKEN: createOperatorToken(),
  });

  it('says at which address nothing answers, and how to look without the service', async () => {
    expect(reasonOf(await runHere(['status'], remote('http://127.0.0.1:1')))).toMatch(
      /^error: Nothing answers at http:\/\/127\.0\.0\.1:1 \(ECONNREFUSED\)\. .* Without the service: .*status --offline$/,
    );
    const stopped = { ...environment, DATA_DIR: newDataDir(), PORT: '4000' };
    expect(reasonOf(await runHere(['status'], stopped))).toMatch(
      /^error: No running service .* http:\/\/127\.0\.0\.1:4001\. Without the service: .*status --offline$/,
    );
  });

  /** A service that accepts connections and does not answer. */
  async function startSilent() {
    const silent = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const address = silent.address();
    return { silent, url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` };
  }

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('ends on %s while the service does not answer', async (signal, exitCode) => {
    const { silent, url } = await startSilent();
    const child = spawnCli(['status'], remote(url));
    await once(silent, 'connection');
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([exitCode, null]);
  });

  it('says so when the service accepts the connection and does not answer', async () => {
    const { url } = await startSilent();
    expect(reasonOf(await runHere(['status'], remote(url)))).toMatch(
      new RegExp(`^error: The service at ${url}/ has not answered within 9 s\\. Without the service: `),
    );
  });
});

describe('a person at the command line', () => {
  it('is asked before a webhook is deleted, unless --yes is given', async () => {
    const webhook = await createWebhook('/asked');
    const asked: string[] = [];
    const say = (answer: boolean) => ({
      ask: async (question: string) => {
        asked.push(question);
        return answer;
      },
    });
    const remove = ['webhooks', 'delete', webhook];
    expect(reasonOf(await runHere(remove, environment, say(false)))).toBe('error: Nothing was done.');
    expect(asked).toEqual([`Delete webhook ${webhook}, /asked, with 0 pending?`]);
    expect((await asOperator('webhooks', 'show', webhook)).code).toBe(0);
    expect((await runHere([...remove, '--yes'], environment, say(false))).code).toBe(0);
    expect(asked).toHaveLength(1);
  });

  it('gets whole tables in a pipe, and is told that there are more rows', async () => {
    const path = `/${'long'.repeat(40)}`;
    const ids = [await createWebhook(path), await createWebhook('/second')];
    const { stdout, stderr } = await asOperator(
      'webhooks',
      'list',
      '--customer',
      running.customer.id,
      '--limit',
      '1',
    );
    expect(stderr).toBe('There are more than 1: say how many with --limit.\n');
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^ *id +title +event +account +status +pending +failed +endpoint$/);
    expect(lines[1]).toContain(`${receiver.url}${path}`);
    for (const id of ids) await asOperator('webhooks', 'delete', id);
  });

  it('gets exit code 1 from a test that failed', async () => {
    const webhook = await createWebhook('/test-fails');
    receiver.answer('/test-fails', answering(503));
    const { code, stdout, stderr } = await asOperator('webhooks', 'test', webhook);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: 'Answered 503.\n', stderr: '' });
    await asOperator('webhooks', 'delete', webhook);
  });

  it('is told whether a test was not answered or not sent', async () => {
    const webhook = await createWebhook('/test-unanswered');
    receiver.answer('/test-unanswered', (_request, response) => void response.destroy());
    expect(await asOperator('webhooks', 'test', webhook)).toMatchObject({
      code: 1,
      stdout: 'No answer: UND_ERR_SOCKET: the endpoint closed the connection without an answer.\n',
    });
    const other = { ...environment, ALLOW_PRIVATE_ENDPOINTS: '', DATA_DIR: newDataDir() };
    const log = createLog('silent');
    const service = await startService({
      config: readConfig(other),
      roles: ['api'],
      log,
      announce: () => {},
    });
    onTestFinished(() => service.stop());
    const disallowed = await runHere(['webhooks', 'test', webhook], other);
    expect(disallowed).toMatchObject({ code: 1, stdout: 'Not sent: address not allowed.\n' });
    await asOperator('webhooks', 'delete', webhook);
  });
});
