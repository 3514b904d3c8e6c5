import { describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { documentOf, reasonOf, runHere } from './command.ts';
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
  it('says that everything is well, with the running roles', async () => {
    const { code, stdout } = await runHere(['status', '--json'], environment);
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
    const shown = await asOperator('status');
    expect(shown.stdout).toMatch(/^All is well\.\n\nMySQL +ok\nRedis +ok\n/);
  });

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

  it('says that MySQL and Redis cannot be reached', async () => {
    const none = {
      ...environment,
      REDIS_URL: 'redis://127.0.0.1:1',
      DATABASE_URL: 'mysql://u:p@127.0.0.1:1/x',
    };
    const { code, stdout, stderr } = await runHere(['status'], none);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toMatch(/^Not well: MySQL cannot be reached\. Redis cannot be reached\.\n/);
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
    const disallowed = await runHere(['webhooks', 'test', webhook], {
      ...environment,
      ALLOW_PRIVATE_ENDPOINTS: '',
    });
    expect(disallowed).toMatchObject({ code: 1, stdout: 'Not sent: address not allowed.\n' });
    await asOperator('webhooks', 'delete', webhook);
  });

  it('can act as the operator while Redis cannot be reached, and is told what follows from that', async () => {
    const webhook = await createWebhook('/without-redis');
    const unreachable = { ...environment, REDIS_URL: 'redis://127.0.0.1:1' };
    const { code, stdout, stderr } = await runHere(['webhooks', 'pause', webhook], unreachable);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `Webhook ${webhook} is paused. 0 pending.\n`,
      stderr: 'Redis cannot be reached: the service finds this by itself, within 10 s of its return.\n',
    });
    await asOperator('webhooks', 'delete', webhook);
  });
});
