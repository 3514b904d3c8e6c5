import { expect, it } from 'vitest';
import { SEALED } from '../../src/database/secret-box.ts';
import { setOperatorWebhook } from '../../src/webhooks/operator-webhook.ts';
import { createWebhookSecret } from '../../src/webhooks/webhooks.ts';
import { useOwnService } from '../support/service.ts';

const service = useOwnService({ because: 'there is one operator', roles: ['api'] });

const set = (opsWebhook: { url: string; secret: string } | undefined) =>
  setOperatorWebhook({ ...service.runtime, config: { ...service.runtime.config, opsWebhook } });

interface Row {
  id: string;
  customer_id: string;
  endpoint: string;
  status: string;
  secret: string;
  previous_secret: string | null;
}

async function webhooks(): Promise<Row[]> {
  const { database, secrets } = service.runtime;
  const rows = await database.query<Row[]>(
    `SELECT w.id, w.customer_id, w.endpoint, w.status, w.secret, w.previous_secret
     FROM webhooks w JOIN customers c ON c.id = w.customer_id WHERE c.is_operator = 1 ORDER BY w.id`,
  );
  return rows.map((row) => ({ ...row, secret: secrets.open(row.secret, SEALED.webhookSecret(row.id)) }));
}

it("the operator's webhook is as the configuration says", async () => {
  const { database } = service.runtime;
  await set(undefined);
  expect(await webhooks()).toEqual([]);
  expect(await database.query('SELECT id FROM customers WHERE is_operator = 1')).toEqual([]);

  const secret = createWebhookSecret();
  const url = 'http://127.0.0.1:9/one';
  await Promise.all([1, 2, 3, 4].map(() => set({ url, secret })));
  const [made, ...more] = await webhooks();
  expect(more).toEqual([]);
  expect(made).toMatchObject({ endpoint: url, status: 'active', secret, previous_secret: null });
  expect(
    await database.query(
      "SELECT source, action FROM audit_events WHERE subject = CONCAT('customer ', customer_id)",
    ),
  ).toEqual([{ source: 'configuration', action: 'create' }]);

  const rotated = { url: 'http://127.0.0.1:9/two', secret: createWebhookSecret() };
  await set(rotated);
  const [changed] = await webhooks();
  expect(changed).toMatchObject({
    id: made?.id,
    endpoint: rotated.url,
    secret: rotated.secret,
    status: 'active',
  });
  expect(changed?.previous_secret).not.toBeNull();

  await database.query("UPDATE webhooks SET status = 'paused' WHERE id = ?", [made?.id]);
  await set(rotated);
  expect((await webhooks())[0]?.status).toBe('paused');
  await database.query("UPDATE webhooks SET status = 'disabled' WHERE id = ?", [made?.id]);
  await set(rotated);
  expect((await webhooks())[0]?.status).toBe('active');

  await set(undefined);
  expect((await webhooks()).map(({ status }) => status)).toEqual(['deleted']);
  await set(rotated);
  expect((await webhooks()).map(({ status }) => status)).toEqual(['deleted', 'active']);
  expect((await webhooks())[0]?.customer_id).toBe((await webhooks())[1]?.customer_id);
});

it("a change of the operator's webhook by the configuration is in the audit log, and nothing else is", async () => {
  const { database } = service.runtime;
  const recorded = async () => {
    const rows = await database.query<Record<string, string>[]>(
      `SELECT e.source, e.actor, e.action, e.subject, e.detail FROM audit_events e
       JOIN customers c ON c.id = e.customer_id WHERE c.is_operator = 1 ORDER BY e.id`,
    );
    await database.query('DELETE FROM audit_events');
    return rows;
  };
  await set(undefined);
  await recorded();
  const one = { url: 'http://127.0.0.1:9/one?token=MARKER', secret: createWebhookSecret() };
  await Promise.all([1, 2, 3].map(() => set(one)));
  const subject = `webhook ${(await webhooks()).at(-1)?.id}`;
  const by = { source: 'configuration', actor: 'OPS_WEBHOOK_URL', subject };
  expect(await recorded()).toEqual([{ ...by, action: 'create', detail: 'OPERATIONAL to 127.0.0.1:9' }]);

  const two = { url: 'http://127.0.0.1:9/two?token=MARKER', secret: createWebhookSecret() };
  await Promise.all([1, 2, 3].map(() => set(two)));
  expect(await recorded()).toEqual([
    { ...by, action: 'change', detail: 'endpoint' },
    { ...by, action: 'rotate secret', detail: '' },
  ]);
  await database.query("UPDATE webhooks SET status = 'disabled' WHERE status = 'active'");
  await set(two);
  expect(await recorded()).toEqual([{ ...by, action: 'change', detail: 'status: active' }]);

  await set(two);
  expect(await recorded()).toEqual([]);
  await set(undefined);
  await set(undefined);
  expect(await recorded()).toEqual([{ ...by, action: 'delete', detail: '' }]);
});
