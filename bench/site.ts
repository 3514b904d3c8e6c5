import type { Wanted } from './figure.ts';
import {
  copyWebhook,
  segmentsMade,
  storeBacklog,
  storeDelivered,
  storeReadHistory,
} from './filled-tables.ts';
import { type Installation, startInstallation } from './installation.ts';
import { addAccount, type Subscribed, subscribe } from './load.ts';

/** Webhooks that match each movement of an account. The number is the same in all installations. */
export const PER_ACCOUNT = 10;

/** How full an installation is. */
export interface Size {
  name: string;
  /** Movements that are stored and delivered before the measurement. */
  stored: number;
  /** Accounts that receive movements, each with ten webhooks of its own. */
  accounts: number;
  /** Webhooks that never match: half of the same customer, half of another one. */
  idle: number;
  /** Pending deliveries of another customer. */
  backlog: number;
  /** Targets for its rates and its time, compared with the smallest size. */
  wanted: { rate: Wanted; time: Wanted };
}

/** A filled installation. */
export interface Site {
  size: Size;
  installation: Installation;
  key: string;
  /** The account whose movements no webhook matches. */
  quiet: string;
  watched: string[];
  /** The webhooks of the watched accounts. */
  webhookIds: string[];
  /** The account of the webhook whose receiver keeps the times of receipt. */
  timed: string;
}

/** Starts an installation and fills its tables directly. A million movements with their deliveries take a minute. */
export async function fillSite(size: Size): Promise<Site> {
  const installation = await startInstallation();
  const { customer, receiver, runtime } = installation;
  const { database } = runtime;
  const { api_key: key, customer: owner, accountId: quiet } = await customer();
  const timed = await addAccount(installation, key);
  const watched: string[] = [];
  while (watched.length < size.accounts) watched.push(await addAccount(installation, key));
  const own = (accountId: string) => ({ customerId: owner.id, accountId });

  await storeReadHistory(database, [quiet, timed, ...watched].map(own), size.stored);
  const clock = await subscribe(installation, key, { path: '/timed', account: timed });
  const webhooks = await subscribeTimes(installation, key, watched[0] ?? '', PER_ACCOUNT);
  const webhookIds = webhooks.map(({ id }) => id);
  for (const webhook of webhooks) {
    webhookIds.push(...(await copyWebhook(runtime, webhook, watched.slice(1).map(own))));
  }
  receiver.send({ secrets: Object.fromEntries(webhooks.map(({ path, secret }) => [path, secret])) });
  await storeDelivered(database, clock, owner.id);

  const other = await customer();
  const elsewhere = { customerId: other.customer.id, accountId: other.accountId };
  if (size.backlog > 0) {
    const pending = await subscribeTimes(installation, other.api_key, other.accountId, PER_ACCOUNT);
    await storeReadHistory(database, [elsewhere], size.backlog / pending.length);
    await storeBacklog(installation, pending, elsewhere.customerId);
  }
  const idle = own(await addAccount(installation, key));
  await copyWebhook(
    runtime,
    clock,
    Array.from({ length: size.idle }, (_, i) => (i % 2 === 0 ? idle : elsewhere)),
  );
  await segmentsMade(database);
  await database.query(`ANALYZE TABLE ${FILLED.join(', ')}`);
  return { size, installation, key, quiet, watched, webhookIds, timed };
}

const FILLED = [
  'transactions',
  'deliveries',
  'retries',
  'attempts',
  'webhooks',
  'webhook_filters',
  'webhook_backlogs',
  'webhook_cursors',
];

async function subscribeTimes(
  installation: Installation,
  key: string,
  account: string,
  count: number,
): Promise<Subscribed[]> {
  const webhooks: Subscribed[] = [];
  for (let i = 0; i < count; i += 1) {
    webhooks.push(await subscribe(installation, key, { path: `/${account}/${i}`, account }));
  }
  return webhooks;
}
