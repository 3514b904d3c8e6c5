import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { asOperator, tokenOf } from '../operators/support.ts';
import { useOwnService } from '../support/service.ts';
import { NOWHERE } from '../support/subscriber.ts';
import { until } from '../support/until.ts';
import { useTemplates } from '../webhooks/template-support.ts';
import { createProject } from './receivers/project.ts';
import { installSdk, startWithSdk } from './receivers/sdk.ts';

const service = useOwnService({ because: 'it counts all customers' });

/** The page's own number takes half a minute. */
const CUSTOMERS = 200;
const EXTERNAL_IDS = Array.from({ length: CUSTOMERS }, (_, at) => `tenant-${at + 1}`);

interface Entry {
  externalId: string;
  customer: number;
  apiKey: string;
  apiSecret: string;
  webhookSecret: string;
}

it('the program of docs/embedding.md, killed half-way, creates each customer once, and has a working key of each', async () => {
  const token = await tokenOf(service, 'operator');
  const project = await createProject('../embedding.md', { form: false });
  onTestFinished(() => project.remove());
  await installSdk(project.directory);
  const args = ['--import', 'tsx', 'embed.mts'];
  const env = {
    OPS_URL: service.opsUrl,
    TOKEN: token,
    ENDPOINT: 'http://127.0.0.1:9/hook',
    CUSTOMERS: String(CUSTOMERS),
  };
  const list = async (): Promise<{ id: number; external_id: string }[]> =>
    (await asOperator(service, token, 'GET', '/v1/customers?per_page=1000')).body.customers;
  const file = join(project.directory, 'customers.jsonl');
  const lines = async () => (await readFile(file, 'utf8')).split('\n').filter((line) => line.endsWith('}'));
  const entries = async (): Promise<Entry[]> => (await lines()).map((line) => JSON.parse(line));

  const first = project.launch(process.execPath, args, env);
  await until('half of the customers exist', async () => {
    first.failure();
    return (await list()).length >= CUSTOMERS / 2;
  });
  await first.stop();
  expect((await list()).length).toBeLessThan(CUSTOMERS);
  // A crash may also take the end of the file, and the half of a line.
  const kept = await lines();
  const lost = kept.splice(-3).map((line): Entry => JSON.parse(line));
  await writeFile(file, `${kept.join('\n')}\n`);
  await appendFile(file, JSON.stringify(lost[0]).slice(0, 40));

  await project.run(process.execPath, args, env);

  const customers = await list();
  expect(customers.map((it) => it.external_id).toSorted()).toEqual(EXTERNAL_IDS.toSorted());
  const stored = await entries();
  const idOf = new Map(customers.map(({ id, external_id }) => [external_id, id]));
  expect(new Map(stored.map((it) => [it.externalId, it.customer]))).toEqual(idOf);
  expect(stored).toHaveLength(CUSTOMERS);
  const waiting = stored.values();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const { apiKey, externalId } of waiting) {
        const { status, body } = await service.call('GET', '/v1/accounts', { key: apiKey });
        expect([externalId, status, body.accounts?.length]).toEqual([externalId, 200, 1]);
      }
    }),
  );
  for (const before of lost) {
    const now = stored.find(({ externalId }) => externalId === before.externalId);
    expect(now).toMatchObject({
      customer: before.customer,
      apiSecret: expect.any(String),
      webhookSecret: expect.stringMatching(/^whsec_/),
    });
    expect(now?.apiSecret).not.toBe(before.apiSecret);
    expect(now?.webhookSecret).not.toBe(before.webhookSecret);
    expect((await service.call('GET', '/v1/accounts', { key: before.apiKey })).status).toBe(401);
  }
});

it('the receiver of docs/embedding.md keeps the customers of a template apart', async () => {
  const token = await tokenOf(service, 'operator');
  const project = await createProject('../embedding.md', { form: false });
  onTestFinished(() => project.remove());
  const templates = useTemplates(service, () => token);
  const template = await templates.createTemplate('apart', { endpoint: NOWHERE });
  const env = { WEBHOOK_SECRET: template.secret };
  const receiver = await startWithSdk(project, 'receive.mjs', env);
  await templates.change(template.id, { endpoint: receiver.origin });
  const customers = [await templates.createCustomer('apart'), await templates.createCustomer('apart')];
  const webhooks = await templates.webhooksOf(template.id);
  for (const it of customers) await templates.addMovement(it);
  await until('both have arrived', () =>
    customers.every(({ external_id }) => receiver.said.includes(external_id)),
  );
  for (const { customer, id } of webhooks)
    expect(receiver.said).toMatch(new RegExp(`^${customer.external_id} msg_${id}-\\d+ 1.00 EUR$`, 'm'));
});
