import { beforeAll, describe, expect, it } from 'vitest';
import { sumTemplates } from '../../src/webhooks/template-webhooks.ts';
import { documentOf, reasonOf, runHere } from './command.ts';
import { useRunningService } from './running-service.ts';

const running = useRunningService();
const { database, asOperator: cli } = running;

let templateId: string;
let customer: { id: string; webhook: string };

interface Answer {
  webhook_template: { id: number };
  webhook_templates: object[];
  webhooks: object[];
}

/** Calls the operators' API, which has more than the commands. */
async function api(method: string, path: string, body?: object): Promise<Answer> {
  const answer = await fetch(`${running.opsUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Answer;
}
let token: string;

beforeAll(async () => {
  const args = ['--title', 'templates', '--role', 'operator', '--json'];
  ({ token } = documentOf(await cli('operators', 'tokens', 'create', ...args)).operator_token);
  const { webhook_template } = await api('POST', '/v1/webhook-templates', {
    title: 'Everyone',
    endpoint: `${running.receiver.url}/secret-path`,
    event: 'NEW_TRANSACTION',
    customers: { metadata: { plan: 'pro' } },
  });
  templateId = String(webhook_template.id);
  const create = async (name: string, external: string) =>
    documentOf(
      await cli(
        ...['customers', 'create', '--name', name, '--external-id', external],
        ...['--metadata', 'plan=pro', '--json'],
      ),
    ).customer.id;
  await create('Well', 'crm-1');
  const id = String(await create('Failing', 'crm-2'));
  const [webhook] = await database.query<{ id: string }[]>(
    'SELECT id FROM webhooks WHERE template_id = ? AND customer_id = ?',
    [templateId, id],
  );
  customer = { id, webhook: webhook?.id ?? '' };
  await database.query(
    `UPDATE webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id
     SET b.matched_count = 9, c.delivered_count = 2, c.failed_count = 3 WHERE c.webhook_id = ?`,
    [customer.webhook],
  );
  await sumTemplates(database);
});

describe('ledgerbell templates', () => {
  it('list shows each template with its customers and where it sends', async () => {
    expect((await cli('templates', 'list')).stdout).toMatch(
      /^id +title +event +status +customers +pending +failed +endpoint\n +\d+ +Everyone +NEW_TRANSACTION +active +2 +4 +3 +http:\/\/127\.0\.0\.1:\d+\n$/,
    );
    const { webhook_templates } = documentOf(await cli('templates', 'list', '--json'));
    expect(webhook_templates).toEqual((await api('GET', '/v1/webhook-templates')).webhook_templates);
  });

  it('show has its settings, its counts, and the customers with failed deliveries', async () => {
    const { stdout } = await cli('templates', 'show', templateId);
    for (const fact of [
      /^template +\d+$/m,
      /^title +Everyone$/m,
      /^endpoint +http:\/\/127\.0\.0\.1:\d+$/m,
      /^status +active$/m,
      /^circuit +closed$/m,
      /^customers +with plan=pro$/m,
      /^webhooks +2$/m,
      /^ended +0$/m,
      /^customers left +0$/m,
      /^pending +4$/m,
      /^delivered +2$/m,
      /^failed +3$/m,
      new RegExp(
        `\n\n *customer +external id +name +webhook +status +pending +failed\n *${customer.id} +crm-2 +Failing +${customer.webhook} +active +4 +3\n$`,
      ),
    ])
      expect(stdout).toMatch(fact);
    expect(stdout).not.toMatch(/secret-path|crm-1/);
  });

  it('show prints one document with --json', async () => {
    const path = `/v1/webhook-templates/${templateId}`;
    expect(documentOf(await cli('templates', 'show', templateId, '--json'))).toEqual({
      ...(await api('GET', path)),
      ...(await api('GET', `${path}/webhooks?having=failed`)),
    });
  });

  it('show says what is wrong, as the console does', async () => {
    await database.query(
      "UPDATE webhooks SET status = 'disabled', status_reason = 'It is gone.' WHERE id = ?",
      [templateId],
    );
    const { stdout } = await cli('templates', 'show', templateId);
    expect(stdout).toMatch(/^status +disabled: It is gone\.$/m);
    expect(stdout).toMatch(/^disabled +It is disabled: It is gone\. 4 deliveries pending\.$/m);
    await api('PATCH', `/v1/webhook-templates/${templateId}`, { status: 'active' });
  });

  it('act as an operator, also with an API key, and need no customer', async () => {
    const environment = { ...running.environment, LEDGERBELL_API_KEY: running.customer.key };
    expect((await runHere(['templates', 'list'], environment)).code).toBe(0);
    expect(reasonOf(await cli('templates', 'show', '999999'))).toContain('webhook template');
    expect(reasonOf(await cli('templates', 'show', 'x'))).toContain('It must be an id');
  });
});
