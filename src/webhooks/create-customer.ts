import * as v from 'valibot';
import { NewAccount } from '../customers/account-view.ts';
import { addAccount } from '../customers/accounts.ts';
import { insertApiKey, KeyScopes } from '../customers/api-keys.ts';
import { byOperator, recordChange } from '../customers/audit.ts';
import { actFor, type Operator, SCOPES } from '../customers/caller.ts';
import { ExternalId, Metadata } from '../customers/customer-view.ts';
import { addCustomer } from '../customers/customers.ts';
import { findCustomer } from '../customers/find-customers.ts';
import { isDuplicate } from '../database/errors.ts';
import type { Runtime } from '../database/runtime.ts';
import { inTransaction } from '../database/transaction.ts';
import type { AddressGuard } from '../platform/address-guard.ts';
import { within } from '../platform/problem.ts';
import { shortList, Title, withExample } from '../platform/validation.ts';
import { keepWebhooksOf, shareTemplates } from './template-webhooks.ts';
import { NewWebhook } from './webhook-input.ts';
import { prepareWebhook } from './webhooks.ts';

/** Creates a customer with its first accounts, webhooks and API key, once for each external id. */

export const MOST_NEW_ACCOUNTS = 100;
export const MOST_NEW_WEBHOOKS = 20;

const FirstKey = v.union(
  [
    v.boolean(),
    v.strictObject({ title: v.optional(Title, 'First key'), scopes: v.optional(KeyScopes, [...SCOPES]) }),
  ],
  'must be true, false, or an object with title and scopes',
);

/** The body of POST /v1/customers. Its webhooks are for all accounts, because the ids of its accounts are not known yet. */
export const NewCustomer = withExample(
  v.strictObject({
    name: Title,
    external_id: v.optional(v.nullable(ExternalId), null),
    metadata: v.optional(Metadata, {}),
    accounts: v.optional(
      shortList(NewAccount, MOST_NEW_ACCOUNTS, `must be a list of at most ${MOST_NEW_ACCOUNTS} accounts`),
      [],
    ),
    webhooks: v.optional(
      shortList(
        v.pipe(
          NewWebhook,
          v.forward(
            v.check(({ account }) => account === 'all', 'must be "all" for a webhook of a new customer'),
            ['account'],
          ),
        ),
        MOST_NEW_WEBHOOKS,
        `must be a list of at most ${MOST_NEW_WEBHOOKS} webhooks`,
      ),
      [],
    ),
    api_key: v.pipe(
      v.optional(FirstKey, true),
      v.description('The first API key, for all accounts. false: none. By default it has all scopes.'),
    ),
  }),
  {
    name: 'Kadıköy Kitabevi',
    external_id: 'kitabevi-17',
    metadata: { plan: 'shop' },
    accounts: [
      { bank: 'Ladin Bank', title: 'Ana Hesap', currency: 'TRY', iban: 'TR320001000000099000000404' },
    ],
    webhooks: [
      {
        title: 'Muhasebe',
        endpoint: 'https://kitabevi.example/ledgerbell',
        event: 'NEW_TRANSACTION',
        account: 'all',
      },
    ],
    api_key: { title: 'Muhasebe', scopes: ['import', 'read', 'webhooks'] },
  },
);

/** What was created. The secrets are shown only once. */
export interface CreatedCustomer {
  id: string;
  /** null: none was asked for. */
  apiKey: string | null;
  apiSecret: string;
  accountIds: string[];
  webhooks: { id: string; secret: string | undefined }[];
}

/**
 * Creates a customer with everything in one transaction.
 * @returns null: a customer with this external id exists, and nothing was changed. If several requests come at the same moment, one creates.
 * @throws {Problem} 422, 403 or 409 with the path of the account or the webhook that is refused. Then nothing is stored.
 */
export async function createCustomerWith(
  runtime: Runtime,
  guard: AddressGuard,
  operator: Operator,
  { name, external_id, metadata, accounts, webhooks, api_key }: v.InferOutput<typeof NewCustomer>,
): Promise<CreatedCustomer | null> {
  const { database, secrets } = runtime;
  // Looked for first, because a webhook's endpoint may have to be looked up in DNS.
  if (external_id !== null && (await findCustomer(database, { externalId: external_id }))) return null;
  const prepared = await Promise.all(
    webhooks.map((it, index) => at(`webhooks.${index}`, () => prepareWebhook(runtime, guard, it))),
  );
  try {
    return await inTransaction(database, async (sql) => {
      await shareTemplates(sql);
      const { id, apiSecret } = await addCustomer(sql, secrets, { name, external_id, metadata });
      const caller = actFor(id, operator);
      await recordChange(sql, byOperator(operator, id), {
        action: 'create',
        subject: `customer ${id}`,
        detail: external_id === null ? name : `${name}, ${external_id}`,
      });
      const key = api_key === true ? { title: 'First key', scopes: SCOPES } : api_key;
      const apiKey =
        key === false ? null : await insertApiKey(sql, { customerId: id, accountIds: 'all', ...key });
      const created: CreatedCustomer = {
        id,
        apiSecret,
        apiKey: apiKey === null ? null : apiKey.apikey,
        accountIds: [],
        webhooks: [],
      };
      for (const [index, { add, secret }] of prepared.entries()) {
        const webhookId = await at(`webhooks.${index}`, () => add(sql, caller, null));
        created.webhooks.push({ id: webhookId, secret });
      }
      for (const [index, { bank = '', bank_id, ...fields }] of accounts.entries()) {
        const account = {
          ...fields,
          customerId: id,
          bank: bank_id === undefined ? { name: bank } : { id: bank_id },
        };
        created.accountIds.push(await at(`accounts.${index}`, () => addAccount(sql, account, caller)));
      }
      await keepWebhooksOf(sql, { id, metadata: JSON.stringify(metadata) });
      return created;
    });
  } catch (error) {
    if (external_id !== null && isDuplicate(error)) return null;
    throw error;
  }
}

/** Names the place in the body in the errors of `work`. */
async function at<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw within(path, error);
  }
}
