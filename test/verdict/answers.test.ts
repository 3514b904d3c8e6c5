import { expect, it } from 'vitest';
import { documentOf, runHere } from '../cli/command.ts';
import { useRunningService } from '../cli/running-service.ts';
import { compareAnswers } from '../support/answers.ts';

const running = useRunningService();
const { database, receiver, environment, asOperator, createWebhook, importMovements } = running;

const compare = (kinds: readonly string[]) =>
  compareAnswers(
    {
      opsUrl: running.opsUrl,
      status: (...options) => runHere(['status', ...options], environment),
      webhook: async (id) => documentOf(await asOperator('webhooks', 'show', String(id), '--json')).webhook,
    },
    kinds,
  );

it('a webhook that is behind is told in the same words on all ways that somebody looks at it', async () => {
  await compare([]);
  const id = await createWebhook('/slow');
  receiver.answer('/slow', (_received, response) => void setTimeout(() => response.end(), 3_000));
  await asOperator('webhooks', 'change', id, '--max-in-flight', '1');
  await importMovements(30);
  await database.query('UPDATE transactions SET date_readed = NOW(6) - INTERVAL 10 MINUTE');
  const [trouble] = await compare(['webhook_behind']);
  expect(trouble).toMatchObject({ scope: 'endpoint', subject: { id: Number(id) } });
  const { stdout, code } = await runHere(['status'], environment);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^The service is well; 1 webhook is behind\.\n/);
  expect((await asOperator('webhooks', 'show', id)).stdout).toMatch(
    /^behind +It is behind\. Its endpoint answers/m,
  );
  await asOperator('webhooks', 'pause', id);
  await compare([]);
});

it('an account that lacks a statement is named, with the command that lists the gaps', async () => {
  const { id } = running.customer;
  await database.query(
    "INSERT INTO statement_checks (account_id, customer_id, completeness) SELECT id, customer_id, 'incomplete' FROM accounts WHERE customer_id = ? LIMIT 1",
    [id],
  );
  const [trouble] = await compare(['statements_wrong']);
  expect(trouble).toMatchObject({ scope: 'endpoint', count: 1, subject: { type: 'account' } });
  const account = trouble?.subject?.id;
  expect((await runHere(['status'], environment)).stdout).toMatch(
    new RegExp(
      `: account ${account} “.*” lacks a statement\\.\n  Ask the bank for it\\. Which days: .*verify --account ${account}$`,
      'm',
    ),
  );
  expect((await asOperator('verify', '--account', String(account))).stdout).toMatch(/^Account /);
  await database.query('DELETE FROM statement_checks');
  await compare([]);
});

it('a feed that nobody reads is told in the same words, and holds up retention until it is read', async () => {
  const created = await asOperator(
    ...['webhooks', 'create', '--customer', String(running.customer.id), '--title', 'Kasa'],
    ...['--delivery', 'pull', '--json'],
  );
  const { webhook } = documentOf(created) as { webhook: { id: number } };
  await importMovements(3);
  await compare([]);
  await database.query('UPDATE transactions SET date_readed = NOW(6) - INTERVAL 3 DAY');
  await database.query('UPDATE webhooks SET created_at = NOW(6) - INTERVAL 4 DAY WHERE id = ?', [webhook.id]);
  const [trouble] = await compare(['webhook_unread']);
  expect(trouble).toMatchObject({ scope: 'endpoint', subject: { id: webhook.id } });
  expect((await runHere(['status'], environment)).stdout).toMatch(
    /^The service is well; 1 feed is not read\.\n/,
  );
  await asOperator('feed', String(webhook.id), '--once');
  await compare([]);
});
