import * as v from 'valibot';
import { AccountView } from '../../customers/account-view.ts';
import { findAccounts } from '../../customers/accounts.ts';
import { actFor, type Operator } from '../../customers/caller.ts';
import {
  CustomerChange,
  CustomerView,
  ExternalId,
  type StoredCustomer,
  viewCustomer,
} from '../../customers/customer-view.ts';
import { findCustomers, requireCustomer } from '../../customers/find-customers.ts';
import { findOwner, OWNED_KINDS } from '../../customers/owner.ts';
import type { Runtime } from '../../database/runtime.ts';
import { readId, readJson, readQuery } from '../../http/input.ts';
import { linkPage, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import type { AddressGuard } from '../../platform/address-guard.ts';
import { invalid } from '../../platform/problem.ts';
import { Count, ShownOnce, Title } from '../../platform/validation.ts';
import { acceptCustomerDeletion } from '../../upkeep/request-deletion.ts';
import { StandingWebhookView, viewStandings } from '../../verdict/standing-view.ts';
import { sortTroubles } from '../../verdict/trouble.ts';
import { readWebhookTroubles } from '../../verdict/webhooks.ts';
import { findCustomerTroubles } from '../../verdict/work.ts';
import { changeCustomer } from '../../webhooks/change-customer.ts';
import {
  createCustomerWith,
  MOST_NEW_ACCOUNTS,
  MOST_NEW_WEBHOOKS,
  NewCustomer,
} from '../../webhooks/create-customer.ts';
import { findWebhooks } from '../../webhooks/find-webhook.ts';
import { idParameter } from '../openapi/openapi.ts';
import { TroubleView } from '../status-document.ts';
import { viewTrouble } from '../status-view.ts';
import { showAccounts } from './accounts.ts';
import { type AddRoute, operatorOf } from './route.ts';

const OWNER_RULE = `must be a kind of thing and its id, such as "webhook:12". Kinds: ${OWNED_KINDS.join(', ')}`;

const Query = v.strictObject({
  name: v.pipe(v.optional(Title), v.description('Only customers with this name.')),
  external_id: v.pipe(v.optional(ExternalId), v.description('Only the customer with this external id.')),
  owner_of: v.pipe(
    v.optional(
      v.pipe(
        v.string(OWNER_RULE),
        v.regex(new RegExp(`^(?:${OWNED_KINDS.join('|')}):[1-9]\\d{0,14}$`), OWNER_RULE),
      ),
    ),
    v.description(
      'Only the customer to whom this belongs, such as webhook:12. For a delivery, give the id of its webhook.',
    ),
  ),
  ...paging('c1', MAX_PER_PAGE),
});

const MOST_TROUBLES = 100;

const CreatedView = v.object({
  customer: CustomerView,
  created: v.pipe(v.boolean(), v.description('false: it existed, and nothing was changed.')),
  accounts: v.array(AccountView),
  webhooks: v.array(StandingWebhookView),
  api_key: v.optional(ShownOnce),
  api_secret: v.optional(ShownOnce),
});

/** Adds the routes with which operators manage customers. */
export function addCustomerRoutes(route: AddRoute, runtime: Runtime, guard: AddressGuard): void {
  const { database } = runtime;

  route('POST /v1/customers', {
    tag: 'Customers',
    role: 'operator',
    idempotent: true,
    operationId: 'createCustomer',
    summary: 'Create a customer, or get the one with this external id',
    description: `Creates a customer with at most ${MOST_NEW_ACCOUNTS} accounts and ${MOST_NEW_WEBHOOKS} webhooks, in one transaction, and its first API key. If a customer has the external id, the answer is that customer with "created": false. Nothing is then changed, and no secret is shown. However many requests come at the same moment, one creates. Who has lost the first answer makes a new API key with POST /v1/apikeys, and new secrets with POST /v1/settings/api/rotate and POST /v1/webhooks/{id}/rotate-secret.`,
    body: { 'application/json': NewCustomer },
    answer: {
      schema: CreatedView,
      description: 'The customer, with secrets only if it was created.',
      secrets: ['api_key', 'api_secret', 'webhooks.secret'],
    },
    problems: ['endpoint-refused', 'webhook-limit-reached', 'account-limit-reached'],
    handle: async (c) => {
      const operator = operatorOf(c.get('actor'));
      const body = await readJson(c, NewCustomer);
      const created = await createCustomerWith(runtime, guard, operator, body);
      const name = created === null ? { externalId: body.external_id ?? '' } : { id: created.id };
      const customer = await requireCustomer(database, name);
      const caller = actFor(customer.id, operator);
      const [accounts, webhooks] = await Promise.all([
        findAccounts(database, caller, { after: '0', limit: MOST_NEW_ACCOUNTS }),
        findWebhooks(database, caller, { after: '0', limit: MOST_NEW_WEBHOOKS }),
      ]);
      const views = await viewStandings(
        runtime,
        webhooks.map(({ id }) => id),
      );
      const secretOf = new Map(created?.webhooks.map(({ id, secret }) => [Number(id), secret]));
      return c.json({
        customer: viewCustomer(customer),
        created: created !== null,
        accounts: await showAccounts(runtime, accounts),
        webhooks: views.map((it) => {
          const secret = secretOf.get(it.id);
          return secret === undefined ? it : { ...it, secret };
        }),
        ...(created === null ? {} : { api_key: created.apiKey, api_secret: created.apiSecret }),
      });
    },
  });

  route('GET /v1/customers', {
    tag: 'Customers',
    role: 'viewer',
    operationId: 'listCustomers',
    summary: 'List customers',
    description: 'Lists customers, the oldest first. If there is a next page, the header Link has its path.',
    query: Query,
    answer: { schema: v.object({ customers: v.array(CustomerView) }), description: 'A page of customers.' },
    handle: async (c) => {
      const { name, external_id: externalId, owner_of, per_page, cursor = '0' } = readQuery(c, Query);
      const id = owner_of === undefined ? undefined : await readOwner(owner_of);
      const found = await findCustomers(
        database,
        { name, externalId, id },
        { after: cursor, limit: per_page + 1 },
      );
      return c.json({ customers: linkPage(c, 'c1', found, per_page).map(viewCustomer) });
    },
  });

  async function readOwner(text: string): Promise<string | null> {
    const [name, id = ''] = text.split(':');
    const kind = OWNED_KINDS.find((it) => it === name);
    if (kind === undefined) throw invalid([{ path: 'owner_of', message: OWNER_RULE }]);
    return findOwner(database, kind, id);
  }

  route('GET /v1/customers/:id', {
    tag: 'Customers',
    role: 'viewer',
    operationId: 'getCustomer',
    summary: 'Get a customer, with its counts and what is wrong now',
    path: { id: idParameter('customer') },
    answer: {
      schema: v.object({
        customer: v.object({
          ...CustomerView.entries,
          counts: v.object({ accounts: Count, webhooks: Count, api_keys: Count, sources: Count }),
          standing: v.pipe(
            v.array(TroubleView),
            v.description(
              `What is wrong with what belongs to it, the worst first, at most ${MOST_TROUBLES}. Empty: nothing is.`,
            ),
          ),
        }),
      }),
      description: 'The customer.',
    },
    problems: ['unknown-customer'],
    handle: async (c) => {
      const customer = await requireCustomer(database, { id: readId(c, 'customer') });
      return c.json({ customer: await showWhole(customer, operatorOf(c.get('actor'))) });
    },
  });

  async function showWhole(customer: StoredCustomer, operator: Operator) {
    const page = { after: '0', limit: MAX_PER_PAGE };
    const webhooks = await findWebhooks(database, actFor(customer.id, operator), page);
    const [[counts], ofWebhooks, others] = await Promise.all([
      database.query<Record<'accounts' | 'webhooks' | 'api_keys' | 'sources', string>[]>(
        COUNT,
        Array(4).fill(customer.id),
      ),
      readWebhookTroubles(
        database,
        webhooks.map(({ id }) => id),
      ),
      findCustomerTroubles(database, customer.id, MOST_TROUBLES),
    ]);
    const troubles = sortTroubles([...[...ofWebhooks.values()].flat(), ...others]).slice(0, MOST_TROUBLES);
    return {
      ...viewCustomer(customer),
      counts: {
        accounts: Number(counts?.accounts),
        webhooks: Number(counts?.webhooks),
        api_keys: Number(counts?.api_keys),
        sources: Number(counts?.sources),
      },
      standing: troubles.map(viewTrouble),
    };
  }

  route('PATCH /v1/customers/:id', {
    tag: 'Customers',
    role: 'operator',
    operationId: 'updateCustomer',
    summary: 'Change the name, the external id or the metadata of a customer',
    description: 'Metadata replaces all metadata of the customer. An external id of null removes it.',
    path: { id: idParameter('customer') },
    body: { 'application/json': CustomerChange },
    answer: { schema: v.object({ customer: CustomerView }), description: 'The customer.' },
    problems: ['unknown-customer', 'external-id-taken', 'customer-deleting'],
    handle: async (c) => {
      const id = readId(c, 'customer');
      await requireCustomer(database, { id });
      const change = await readJson(c, CustomerChange);
      await changeCustomer(database, operatorOf(c.get('actor')), id, change);
      return c.json({ customer: viewCustomer(await requireCustomer(database, { id })) });
    },
  });

  route('DELETE /v1/customers/:id', {
    tag: 'Customers',
    role: 'operator',
    operationId: 'deleteCustomer',
    summary: 'Delete a customer with everything that belongs to it',
    description:
      'Its API keys stop working and its external id becomes free immediately, and nothing of it is stored or sent any more. Its rows are deleted in the background. This cannot be undone.',
    path: { id: idParameter('customer') },
    query: v.strictObject({
      confirm: v.pipe(
        v.optional(v.string()),
        v.description('The name of the customer, so that no other is deleted by mistake.'),
      ),
    }),
    answer: {
      status: 202,
      schema: v.object({ customer: CustomerView }),
      description: 'The customer, which is being deleted.',
    },
    problems: ['unknown-customer', 'operator-customer'],
    handle: async (c) => {
      const id = readId(c, 'customer');
      const customer = await requireCustomer(database, { id });
      if (c.req.query('confirm') !== customer.name)
        throw invalid([{ path: 'confirm', message: 'must be the name of the customer, exactly' }]);
      await acceptCustomerDeletion(runtime, operatorOf(c.get('actor')), id);
      return c.json({ customer: viewCustomer(await requireCustomer(database, { id })) }, 202);
    },
  });
}

/** Indexes: accounts_customer, webhooks_customer, api_keys_page, sources_customer. */
const COUNT = `
  SELECT (SELECT COUNT(*) FROM accounts WHERE customer_id = ? AND status <> 'deleting') AS accounts,
    (SELECT COUNT(*) FROM webhooks WHERE customer_id = ? AND status <> 'deleted' AND is_template = 0 AND template_id IS NULL) AS webhooks,
    (SELECT COUNT(*) FROM api_keys WHERE customer_id = ?) AS api_keys,
    (SELECT COUNT(*) FROM sources WHERE customer_id = ? AND status <> 'deleted') AS sources`;
