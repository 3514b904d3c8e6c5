import * as v from 'valibot';
import { Account } from '../../database/entities/account.ts';
import { Webhook } from '../../database/entities/webhook.ts';
import { SEALED } from '../../database/secret-box.ts';
import type { AddressGuard } from '../../delivering/address-guard.ts';
import { createWebhookSecret } from '../../delivering/signature.ts';
import { type Caller, createHandlers, maySee } from '../../http/environment.ts';
import { invalid, Problem } from '../../http/problem.ts';
import type { Runtime } from '../../runtime.ts';
import { readJson } from '../input.ts';
import { describe } from '../openapi.ts';
import { NewWebhook } from './input.ts';
import { viewWebhook, WebhookView } from './view.ts';

/** POST /v1/webhooks */
export const createWebhook = ({ config, database, secrets }: Runtime, guard: AddressGuard) =>
  createHandlers(
    describe({
      tag: 'Webhooks',
      summary: 'Subscribe to new movements',
      description:
        'Every movement stored from now on that matches is sent to the endpoint as a signed POST, and retried for about three days. The secret is shown in this answer only.',
      body: { 'application/json': NewWebhook },
      answer: { schema: v.object({ webhook: WebhookView }), description: 'The webhook, with its secret.' },
      problems: ['malformed', 'forbidden', 'too-large', 'unsupported-media-type', 'invalid'],
    }),
    async (c) => {
      const caller = c.get('caller');
      const input = await readJson(c, NewWebhook);
      const accountId = await requireAccount(database, caller, input.account);
      const endpoint = new URL(input.endpoint);
      const refusal = await guard.checkEndpoint(endpoint);
      if (refusal !== null)
        throw invalid([{ path: 'endpoint', message: `is not allowed: ${refusal.replace(/\.$/, '')}` }]);

      const secret = createWebhookSecret();
      const hasHeaders = Object.keys(input.headers).length > 0;
      const webhook = await database.transaction(async (manager) => {
        const saved = await manager.getRepository(Webhook).save({
          customerId: caller.customerId,
          title: input.title,
          endpoint: endpoint.href,
          event: input.event,
          accountId,
          secret: secrets.seal(secret, SEALED.webhookSecret),
          encoding: input.encoding ?? config.notificationEncoding,
          hashEncoding: input.hash_encoding,
          ordered: input.ordered,
          rateLimit: input.rate_limit,
          maxInFlight: input.max_in_flight,
          headers: hasHeaders ? secrets.seal(JSON.stringify(input.headers), SEALED.webhookHeaders) : null,
        });
        await manager.query('INSERT INTO pumps (webhook_id) VALUES (?)', [saved.id]);
        return manager.getRepository(Webhook).findOneByOrFail({ id: saved.id });
      });
      return c.json({ webhook: viewWebhook(webhook, secret) });
    },
  );

/** @returns the account's id, null for all. Another customer's account is as unknown as one that does not exist. */
async function requireAccount(
  database: Runtime['database'],
  caller: Caller,
  account: string,
): Promise<string | null> {
  if (account === 'all') {
    if (caller.accountIds !== 'all') {
      throw new Problem(
        'forbidden',
        'This API key is limited to some accounts, so that a webhook for "all" would show more than it may see: name one of its accounts.',
      );
    }
    return null;
  }
  const known =
    maySee(caller, account) &&
    (await database.getRepository(Account).existsBy({ id: account, customerId: caller.customerId }));
  if (!known)
    throw invalid([{ path: 'account', message: 'must be "all", or the id of one of your accounts' }]);
  return account;
}
