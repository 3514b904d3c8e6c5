import { type DataSource, In, MoreThan, Not } from 'typeorm';
import { Webhook } from '../database/entities/webhook.ts';
import type { Caller } from '../http/environment.ts';
import { notFound } from '../http/problem.ts';

/** What a caller may see: its customer's webhooks. A key limited to accounts sees those of its accounts, and not those for all. */
const visible = ({ customerId, accountIds }: Caller) => ({
  customerId,
  status: Not('deleted' as const),
  ...(accountIds === 'all' ? {} : { accountId: In([...accountIds]) }),
});

/** Index: webhooks_customer. */
export function findWebhooks(
  database: DataSource,
  caller: Caller,
  { after, limit }: { after: string; limit: number },
): Promise<Webhook[]> {
  return database
    .getRepository(Webhook)
    .find({ where: { ...visible(caller), id: MoreThan(after) }, order: { id: 'ASC' }, take: limit });
}

/** @throws {Problem} 404. */
export async function findWebhook(database: DataSource, caller: Caller, id: string): Promise<Webhook> {
  const webhook = await database.getRepository(Webhook).findOneBy({ ...visible(caller), id });
  if (webhook === null) throw notFound('webhook');
  return webhook;
}
