import { createToken } from '../../src/customers/operator-tokens.ts';
import { monotonic } from '../clock.ts';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { askReceiver, markDeliveries, send, untilDelivered } from '../load.ts';
import { makeMovements, toNdjson } from '../movements.ts';

/** `others`: customers beside whom customers are created, in the larger of two installations. */
const SIZES = {
  smoke: { customers: 3, movements: 5, created: 5, others: 20 },
  normal: { customers: 200, movements: 100, created: 200, others: 10_000 },
};

/** Requests at a time that create customers. */
const CREATING = 8;

/** Imports at a time. */
const IMPORTING = 8;

interface Subscriber {
  /** Its number among the customers that were created together. */
  at: number;
  /** Of the first webhook; undefined: it has none of its own. */
  secret: string | undefined;
  key: string;
  accountId: string;
  webhookId: string;
}

type Ask = (method: string, path: string, body?: object) => Promise<Record<string, never>>;

/**
 * One webhook template for many customers, beside a webhook for each: deliveries per second, and what a new customer costs with few and with
 * many others. Also how long POSTs go on after the answer that says that the template is paused.
 */
export const templates: Figure = {
  about:
    'one webhook template for 200 customers beside a webhook for each, and a customer more beside 10,000',
  async prepare(scale: Scale, start) {
    const size = sized(scale, SIZES);
    const installation = await start();
    const ask = await askAs(installation);
    const group = `g${monotonic()}`;
    const alone = await createMany(ask, size.customers, (at) => ({
      metadata: {},
      webhooks: [
        {
          title: `${at}`,
          endpoint: `${installation.receiver.url}/alone/${at}`,
          event: 'NEW_TRANSACTION',
          account: 'all',
        },
      ],
    }));
    const together = await createMany(ask, size.customers, () => ({ metadata: { group } }));
    const { id: template, secret } = await createTemplate(ask, installation, group);
    const own = alone.map((it) => [`/alone/${it.at}`, it.secret]);
    installation.receiver.send({ secrets: Object.fromEntries([['/template', secret], ...own]) });
    await withTheirWebhooks(ask, template, together);
    const large = await fillLarge(scale, start, installation, size.others);
    return {
      server: installation.server,
      async round() {
        return [
          await measureDeliveries(installation, { alone, together, movements: size.movements }),
          await measureCreating({ ask, group }, large, size),
          await measurePause(installation, ask, { template, together, movements: size.movements }),
        ];
      },
      async end() {
        await ask('DELETE', `/v1/webhook-templates/${template}`);
        if (large.installation !== installation) await large.installation.end();
        await installation.end();
      },
    };
  },
};

/** Asks the operators' listener of an installation. */
async function askAs({ opsUrl, runtime }: Installation): Promise<Ask> {
  const operator = { source: 'configuration', name: 'bench', role: 'admin' } as const;
  const { token } = await createToken(runtime.database, operator, {
    title: 'bench',
    role: 'operator',
    expires_at: null,
  });
  return async (method, path, body) => {
    const response = await fetch(new URL(path, opsUrl), {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Record<string, never>;
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
}

async function createTemplate(
  ask: Ask,
  { receiver }: Installation,
  group: string,
): Promise<{ id: number; secret: string }> {
  const { webhook_template } = (await ask('POST', '/v1/webhook-templates', {
    title: 'All customers',
    endpoint: `${receiver.url}/template`,
    event: 'NEW_TRANSACTION',
    customers: { metadata: { group } },
  })) as unknown as { webhook_template: { id: number; secret: string } };
  return webhook_template;
}

/** Creates customers with an account each, several at a time. @returns them, with the id of their first webhook, if they have one. */
async function createMany(ask: Ask, count: number, fieldsOf: (at: number) => object): Promise<Subscriber[]> {
  const made: Subscriber[] = [];
  const numbers = Array.from({ length: count }, (_, at) => at).values();
  const work = async () => {
    for (const at of numbers) {
      const { customer, accounts, webhooks, api_key } = (await ask('POST', '/v1/customers', {
        name: `Customer ${at}`,
        external_id: `${monotonic()}-${at}`,
        accounts: [{ bank: 'Garanti BBVA', title: 'Ana Hesap', currency: 'TRY' }],
        ...fieldsOf(at),
      })) as unknown as {
        customer: { id: number };
        accounts: { id: number }[];
        webhooks: { id: number; secret: string }[];
        api_key: string;
      };
      if (customer === undefined) throw new Error('a customer was not created');
      made.push({
        secret: webhooks[0]?.secret,
        at,
        key: api_key,
        accountId: String(accounts[0]?.id),
        webhookId: String(webhooks[0]?.id ?? ''),
      });
    }
  };
  await Promise.all(Array.from({ length: CREATING }, work));
  return made;
}

/** Waits until each customer has its webhook of the template, and notes the webhooks' ids. */
async function withTheirWebhooks(ask: Ask, template: number, customers: Subscriber[]): Promise<void> {
  for (;;) {
    const { webhooks } = (await ask(
      'GET',
      `/v1/webhook-templates/${template}/webhooks?per_page=1000`,
    )) as unknown as {
      webhooks: { id: number }[];
    };
    if (webhooks.length >= customers.length) {
      for (const [at, it] of customers.entries()) it.webhookId = String(webhooks[at]?.id);
      return;
    }
    await pause(50);
  }
}

/** An installation with many customers. A smoke run uses the same one again. */
async function fillLarge(
  scale: Scale,
  start: Parameters<Figure['prepare']>[1],
  small: Installation,
  others: number,
): Promise<{ installation: Installation; ask: Ask; group: string }> {
  const installation = scale === 'smoke' ? small : await start();
  const ask = await askAs(installation);
  const group = `large${monotonic()}`;
  await createTemplate(ask, installation, group);
  await createMany(ask, others, () => ({ metadata: { group } }));
  return { installation, ask, group };
}

interface Groups {
  alone: readonly Subscriber[];
  together: readonly Subscriber[];
  movements: number;
}

/** @returns the deliveries per second of all customers, with the template and with a webhook each. */
async function measureDeliveries(installation: Installation, groups: Groups): Promise<Measured> {
  const { alone, together, movements } = groups;
  const each = await deliver(installation, alone, movements);
  const value = await deliver(installation, together, movements);
  return {
    name: `deliveries, ${together.length} customers with one template`,
    unit: 'deliveries/s',
    value,
    baseline: { name: 'a webhook for each', value: each },
    wanted: { atLeast: 0.95 },
  };
}

async function importAll(
  installation: Installation,
  customers: readonly Subscriber[],
  movements: number,
): Promise<void> {
  const next = customers.values();
  const work = async () => {
    for (const { key, accountId } of next)
      await send(installation, key, toNdjson(makeMovements(movements, accountId, String(monotonic()))));
  };
  await Promise.all(Array.from({ length: IMPORTING }, work));
}

async function deliver(
  installation: Installation,
  customers: readonly Subscriber[],
  movements: number,
): Promise<number> {
  const mark = await markDeliveries(
    installation,
    customers.map(({ webhookId }) => webhookId),
  );
  const total = customers.length * movements;
  const began = monotonic();
  await importAll(installation, customers, movements);
  await untilDelivered(installation, mark, total);
  return (1_000 * total) / (monotonic() - began);
}

/** @returns the milliseconds that a new customer takes, beside many others of its template and beside few. */
async function measureCreating(
  small: { ask: Ask; group: string },
  large: { ask: Ask; group: string },
  { created, others }: { created: number; others: number },
): Promise<Measured> {
  const take = async ({ ask, group }: { ask: Ask; group: string }) => {
    const began = monotonic();
    await createMany(ask, created, () => ({ metadata: { group } }));
    return (monotonic() - began) / created;
  };
  const few = await take(small);
  return {
    name: `a new customer beside ${others.toLocaleString('en')} of its template, ${CREATING} at a time`,
    unit: 'ms',
    value: await take(large),
    baseline: { name: 'beside few', value: few },
    wanted: { atMost: 1.2 },
  };
}

/** How long nothing must arrive before everything that was under way has. Milliseconds. */
const SILENCE = 1_000;

/** @returns the milliseconds from the answer to the pause of a template, with all its webhooks sending, to the last POST that arrived. */
async function measurePause(
  installation: Installation,
  ask: Ask,
  { template, together, movements }: { template: number; together: readonly Subscriber[]; movements: number },
): Promise<Measured> {
  const total = together.length * movements;
  const mark = await markDeliveries(
    installation,
    together.map(({ webhookId }) => webhookId),
  );
  const importing = importAll(installation, together, movements);
  while ((await askReceiver(installation)).count < total / 10) await pause(5);
  await ask('PATCH', `/v1/webhook-templates/${template}`, { status: 'paused' });
  const paused = monotonic();
  await importing;
  for (let [count, since] = [-1, monotonic()]; monotonic() < since + SILENCE; await pause(50)) {
    const received = await askReceiver(installation);
    if (received.count !== count) [count, since] = [received.count, monotonic()];
  }
  const { lastAt } = await askReceiver(installation);
  await ask('PATCH', `/v1/webhook-templates/${template}`, { status: 'active' });
  await untilDelivered(installation, mark, total);
  return {
    name: `from the pause of a template with ${together.length} sending webhooks to its last POST`,
    unit: 'ms',
    value: Math.max(0, lastAt - paused),
    wanted: { atMost: 1_000 },
  };
}
