import { request } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { createAccount, movement } from '../support/movements.ts';
import { countRows } from '../support/rows.ts';
import { useOwnService } from '../support/service.ts';

const service = useOwnService({ because: 'it counts the rows of all tables', roles: ['api', 'importer'] });

const MIB = 1024 * 1024;
const LARGEST = 32 * MIB;

interface Upload {
  /** Sends the rest of the body. */
  finish(): void;
  answer: Promise<{ status: number; retryAfter: string | undefined; body: { type?: string } }>;
}

const uploads: { destroy(): void }[] = [];
afterEach(() => {
  for (const upload of uploads.splice(0)) upload.destroy();
});

/** Begins a JSON import of the largest size, and waits until the service has asked for its body or refused it. */
async function begin(key: string, accountId: string): Promise<Upload> {
  const json = Buffer.from(JSON.stringify({ transactions: [movement(accountId)] }));
  const outgoing = request(`${service.url}/v1/imports`, {
    method: 'POST',
    headers: { Authentication: key, 'Content-Type': 'application/json', 'Content-Length': LARGEST },
  });
  uploads.push(outgoing);
  const answer = new Promise<Awaited<Upload['answer']>>((resolve, reject) => {
    outgoing.on('error', reject);
    outgoing.on('response', async (response) => {
      let text = '';
      for await (const part of response.setEncoding('utf8')) text += part;
      resolve({
        status: response.statusCode ?? 0,
        retryAfter: response.headers['retry-after'],
        body: JSON.parse(text),
      });
    });
  });
  answer.catch(() => {});
  await new Promise((sent) => outgoing.write(json, sent));
  return { finish: () => outgoing.end(Buffer.alloc(LARGEST - json.length, ' ')), answer };
}

async function newCustomer() {
  const { api_key: key } = await service.customer();
  return { key, accountId: (await createAccount(service, key)).id };
}

it('the API reads a limited number of large JSON imports at once, refuses the next after a while, and takes it later', async () => {
  const customers = await Promise.all([newCustomer(), newCustomer(), newCustomer()]);
  const [first, second] = await Promise.all(
    customers.slice(0, 2).map(({ key, accountId }) => begin(key, accountId)),
  );
  const { key, accountId } = customers[2] ?? { key: '', accountId: '' };
  const before = await countRows(service);
  const refused = await begin(key, accountId);
  expect(await refused.answer).toMatchObject({
    status: 503,
    retryAfter: '5',
    body: { type: '/problems/overloaded' },
  });
  expect(await countRows(service)).toEqual(before);

  const small = await service.call('POST', '/v1/imports', {
    key,
    body: { transactions: [movement(accountId)] },
  });
  expect(small.status).toBe(202);

  first?.finish();
  expect(await first?.answer).toMatchObject({ status: 202 });
  const later = await begin(key, accountId);
  for (const upload of [second, later]) {
    upload?.finish();
    expect(await upload?.answer).toMatchObject({ status: 202 });
  }
});

it("the API lets a customer's large imports block only that customer", async () => {
  const [slow, other] = [await newCustomer(), await newCustomer()];
  await begin(slow.key, slow.accountId);
  const own = await begin(slow.key, slow.accountId);
  const theirs = await begin(other.key, other.accountId);
  theirs.finish();
  expect(await theirs.answer).toMatchObject({ status: 202 });
  expect(await own.answer).toMatchObject({ status: 503 });
});

it('the API gives the memory of an interrupted upload to the next upload', async () => {
  const customer = await newCustomer();
  await begin(customer.key, customer.accountId);
  for (const upload of uploads.splice(0)) upload.destroy();
  const next = await begin(customer.key, customer.accountId);
  next.finish();
  expect(await next.answer).toMatchObject({ status: 202 });
});
