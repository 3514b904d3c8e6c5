import { beforeAll, expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { createSubscriber, NOWHERE, setCursor } from '../support/subscriber.ts';
import { until } from '../support/until.ts';
import { deliveriesOf, subscribe, useDeliveryWorkers } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer'] });
const receiver = useReceiver();
const workers = useDeliveryWorkers(service);

/** The webhook has been sent one batch of five, of which the receiver has named the second event. */
let webhookId: string;
let batch: string;
let ids: string[];

beforeAll(async () => {
  workers.start({ delays: [600_000] });
  const { api_key: key } = await service.customer();
  const { id: accountId } = await createAccount(service, key);
  ({ id: webhookId } = await subscribe(service, key, `${receiver.url}/in`, {
    batch: { max: 500, wait_ms: 2_000 },
  }));
  receiver.answer('/in', ({ body }, response) => {
    const [, second] = JSON.parse(body).events;
    response.end(JSON.stringify({ failed: [second.id] }));
  });
  const change = (body: object) => service.call('PATCH', `/v1/webhooks/${webhookId}`, { key, body });
  await change({ status: 'paused' });
  await importMovements(
    service,
    key,
    Array.from({ length: 5 }, (_, i) => movement(accountId, { unique_id: `b${i}` })),
  );
  await change({ status: 'active' });
  await until('four are delivered', async () => {
    const rows = await deliveriesOf(service, webhookId);
    return rows.filter(({ status }) => status === 'delivered').length === 4;
  });
  const sent = JSON.parse(receiver.at('/in')[0]?.body ?? '');
  batch = sent.batch;
  ids = sent.events.map(({ id }: { id: string }) => id.replace('msg_', ''));
});

async function mainOf(path: string): Promise<string> {
  const { status, body } = await service.callOps('GET', path, { headers: { Accept: 'text/html' } });
  expect(status).toBe(200);
  return /<main[^>]*>(.*)<\/main>/s.exec(String(body))?.[1] ?? '';
}

const withoutTags = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const textOf = async (path: string) => withoutTags(await mainOf(path));

/** The lines of a table, without its heading. */
const linesOf = (html: string) =>
  (/<tbody>(.*?)<\/tbody>/s.exec(html)?.[1] ?? '').split('</tr>').filter((line) => line.includes('<td'));

it('the list of deliveries has one line for a batch, with its events to be opened', async () => {
  const lines = linesOf(await mainOf(`/ops/deliveries?webhook=${webhookId}`));
  expect(lines).toHaveLength(1);
  const [line = ''] = lines;
  expect(line).toMatch(/<details><summary>5 events of a batch<\/summary><ul class="events">/);
  for (const id of ids) expect(line).toContain(`href="/ops/deliveries/${id}"`);
  expect(withoutTags(line)).toContain('4 delivered');
  expect(withoutTags(line)).toContain('1 pending');
  expect(withoutTags(line)).toMatch(
    /200, the receiver named it in failed|the receiver named it in failed, 200/,
  );
});

it('a delivery without others of its batch in the list has a line of its own', async () => {
  const lines = linesOf(await mainOf(`/ops/deliveries?webhook=${webhookId}&status=pending`));
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain('<details>');
  expect(lines[0]).toContain(`href="/ops/deliveries/${ids[1]}"`);
});

it('the page of a webhook has one line for a batch, and says what its setting means', async () => {
  const html = await mainOf(`/ops/webhooks/${webhookId}`);
  expect(withoutTags(html)).toContain('Batches up to 500 events together, waits up to 2 s for more');
  const lines = linesOf(html);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('<summary>5 events of a batch</summary>');
  const text = withoutTags(lines[0] ?? '');
  expect(text).toContain('4 delivered 200');
  expect(text).toContain('1 failed 200');
  expect(text).toContain(`{&quot;failed&quot;:[&quot;msg_${ids[1]}&quot;]}`);
  expect(html.match(/<rect/g)).toHaveLength(1);
});

it('the page of a delivery names its batch, with the answer to it and the event within it', async () => {
  for (const id of ids) {
    const text = await textOf(`/ops/deliveries/${id}`);
    expect(text).toContain(`Batch ${batch}`);
    expect(text).toContain(`{&quot;failed&quot;:[&quot;msg_${ids[1]}&quot;]}`);
    expect(text).toContain('It is a batch, shown without the events beside this one.');
    expect(text).toContain(`webhook-id: ${batch}`);
    expect(text).toContain(
      `{&quot;batch&quot;:&quot;${batch}&quot;,&quot;events&quot;:[{&quot;id&quot;:&quot;msg_${id}`,
    );
    expect(text).not.toContain('ledgerbell-transaction-id');
  }
});

it('the trace of a movement names the batch of each attempt', async () => {
  const [, movementId] = (ids[0] ?? '').split('-');
  expect(await textOf(`/ops/trace?movement=${movementId}`)).toContain(batch);
});

it('a batch of more events than the page has attempts is one line with all of them', async () => {
  const { api_key: key } = await service.customer();
  const { id: accountId } = await createAccount(service, key);
  const { id } = await subscribe(service, key, `${receiver.url}/large`, { batch: { max: 500 } });
  const change = (status: string) => service.call('PATCH', `/v1/webhooks/${id}`, { key, body: { status } });
  await change('paused');
  await importMovements(
    service,
    key,
    Array.from({ length: 120 }, (_, i) => movement(accountId, { unique_id: `l${i}` })),
  );
  await change('active');
  await until('all are delivered', async () => {
    const rows = await deliveriesOf(service, id);
    return rows.filter(({ status }) => status === 'delivered').length === 120;
  });
  const lines = linesOf(await mainOf(`/ops/webhooks/${id}`));
  expect(lines).toHaveLength(receiver.at('/large').length);
  expect(lines.join()).toContain('<summary>120 events of a batch</summary>');
});

it('the page of a webhook explains that its deliveries wait for more', async () => {
  const other = await createSubscriber(service, NOWHERE, { batch: { max: 500, wait_ms: 60_000 } });
  // The job that wakes it is far away.
  const stored = await other.store(3);
  await service.runtime.database.query('UPDATE transactions SET date_readed = NOW(6) WHERE id IN (?)', [
    stored,
  ]);
  await setCursor(service, other.webhook.id, 'recovery_successes = NULL');
  expect(await textOf(`/ops/webhooks/${other.webhook.id}`)).toMatch(
    /They wait for more, to be sent in a batch: until there are 500, but not longer than (1 min|59 s|58 s) from now\./,
  );
});
