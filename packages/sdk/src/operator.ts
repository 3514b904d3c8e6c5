import { ANSWERS_OF_OPERATORS } from './answers.ts';
import { createApiClient, readPagesOf, repeatingOf, type SendingOptions } from './api-client.ts';
import type { Client } from './generated/client/index.ts';
import type {
  BooksReport,
  CreateCustomerErrors,
  CreateCustomerResponse,
  CreateCustomerResponses,
  CreateOperatorTokenErrors,
  CreateOperatorTokenResponse,
  CreateOperatorTokenResponses,
  Customer,
  DeleteCustomerErrors,
  DeleteCustomerResponses,
  DeleteOperatorTokenErrors,
  DeleteOperatorTokenResponses,
  GetCustomerErrors,
  GetCustomerResponse,
  GetCustomerResponses,
  GetVerdictErrors,
  GetVerdictResponses,
  ListChangesData,
  ListChangesErrors,
  ListChangesResponse,
  ListChangesResponses,
  ListCustomersErrors,
  ListCustomersResponses,
  ListOperatorTokensErrors,
  ListOperatorTokensResponses,
  NewCustomer,
  NewOperatorToken,
  OperatorToken,
  Status,
  UpdateCustomerErrors,
  UpdateCustomerResponses,
  VerifyBooksErrors,
  VerifyBooksResponses,
} from './generated/operators/types.gen.ts';
import { Ledgerbell } from './ledgerbell.ts';
import {
  addressOfOperators,
  type CustomerName,
  customerHeader,
  type OperatorAccess,
  operatorHeaders,
} from './operator-access.ts';

/** The operators' API. */

export interface LedgerbellOperatorOptions extends SendingOptions, OperatorAccess {}

/** A new customer, with its first accounts, webhooks and API key. */
export interface CustomerToCreate extends Pick<NewCustomer, 'name' | 'metadata' | 'accounts' | 'webhooks'> {
  /** Its id in your program. */
  externalId?: string;
  /** The first API key, for all accounts. false: none. By default it has all scopes. */
  apiKey?: NonNullable<NewCustomer['api_key']>;
}

/** What was created, or exists. */
export interface CreatedCustomer extends Pick<CreateCustomerResponse, 'customer' | 'accounts' | 'webhooks'> {
  /** false: it existed, and nothing was changed. */
  created: boolean;
  /** Shown only once. null: it was not created now, you did not want one, or the answer with it was lost. */
  apiKey: string | null;
  /** Shown only once. null: it was not created now, or the answer with it was lost. */
  apiSecret: string | null;
}

/** A customer, with its counts and what is wrong now. */
export type CustomerDetails = GetCustomerResponse['customer'];

export interface CustomersQuery {
  /** Only customers with this name. */
  name?: string;
  /** Only the customer with this external id. */
  externalId?: string;
  /** Only the customer to whom this belongs, such as `webhook:12`. */
  ownerOf?: string;
  /** How many customers a page has. All pages are read. */
  perPage?: number;
}

export interface CustomerUpdate {
  name?: string;
  /** null removes it. */
  externalId?: string | null;
  /** Replaces all metadata. */
  metadata?: Record<string, string>;
}

export interface OperatorTokenToCreate extends Pick<NewOperatorToken, 'title' | 'role'> {
  /** A moment in UTC, such as `2027-01-31T00:00:00Z`. Without it, the token does not expire. */
  expiresAt?: string;
}

/** A line of the audit log. */
export type AuditChange = ListChangesResponse['changes'][number];

export interface AuditQuery extends Pick<NonNullable<ListChangesData['query']>, 'subject' | 'source'> {
  /** Only changes of what belongs to this customer. */
  customer?: CustomerName;
  /** How many changes a page has. All pages are read. */
  perPage?: number;
}

export interface VerifyQuery {
  customer: CustomerName;
  /** Only the account with this id. */
  account?: number | string;
  /** Only statements that end on this day or later. */
  from?: string;
  /** Only statements that begin on this day or earlier. */
  to?: string;
}

interface Signalled {
  signal?: AbortSignal;
}

/** Sends the requests of the operators' API. */
interface Sender {
  client: Client;
  url: string;
}

/**
 * The operators' API: customers, operators' tokens, the verdict, the audit log, and the check of books. Its methods throw what those of `Ledgerbell` throw.
 */
export class LedgerbellOperator {
  readonly customers: Customers;
  readonly operatorTokens: OperatorTokens;
  readonly audit: Audit;
  readonly #options: LedgerbellOperatorOptions;
  readonly #sender: Sender;

  constructor(options: LedgerbellOperatorOptions) {
    const url = addressOfOperators(options);
    const headers = operatorHeaders(options);
    this.#options = options;
    this.#sender = {
      url,
      client: createApiClient(url, headers, repeatingOf(options), ANSWERS_OF_OPERATORS),
    };
    this.customers = new Customers(this.#sender);
    this.operatorTokens = new OperatorTokens(this.#sender);
    this.audit = new Audit(this.#sender);
  }

  /** @returns the API for one customer. Nothing is sent, so a customer that does not exist is noticed by the first request. */
  customer(customer: CustomerName): Ledgerbell {
    const { url, token, ...sending } = this.#options;
    return new Ledgerbell({ operator: { url, token }, customer, ...sending });
  }

  /** Tells whether anything is wrong with the installation, and with what. @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError} */
  async verdict(): Promise<Status> {
    const { data } = await this.#sender.client.get<GetVerdictResponses, GetVerdictErrors, true>({
      url: '/v1/verdict',
    });
    return data;
  }

  /**
   * Compares statements, movements and deliveries of a customer, account by account. It reads all pages, and returns them as one report.
   * @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError}
   */
  async verify({ customer, ...query }: VerifyQuery, { signal }: Signalled = {}): Promise<BooksReport> {
    const { client, url } = this.#sender;
    const headers = customerHeader(customer);
    const read = (cursor: { cursor?: string }) =>
      client.get<VerifyBooksResponses, VerifyBooksErrors, true>({
        url: '/v1/verify',
        headers,
        query: { ...query, ...cursor },
        ...signalOf(signal),
      });
    let report: BooksReport | undefined;
    for await (const page of readPagesOf(url, read)) {
      // Each page has all pending deliveries.
      report = {
        ...page,
        status: report?.status === 'wrong' ? 'wrong' : page.status,
        accounts: [...(report?.accounts ?? []), ...page.accounts],
      };
    }
    // There is always a first page.
    return report as BooksReport;
  }
}

/** The customers of an installation. */
export class Customers {
  readonly #sender: Sender;

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /**
   * Creates a customer. With an external id that a customer has, it returns that customer, as `getOrCreate` does.
   * @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError}
   */
  async create({ externalId, apiKey, ...rest }: CustomerToCreate): Promise<CreatedCustomer> {
    const body: NewCustomer = {
      ...rest,
      ...(externalId === undefined ? {} : { external_id: externalId }),
      ...(apiKey === undefined ? {} : { api_key: apiKey }),
    };
    const { data } = await this.#sender.client.post<CreateCustomerResponses, CreateCustomerErrors, true>({
      url: '/v1/customers',
      body,
      headers: JSON_BODY,
    });
    const { customer, created, accounts, webhooks, api_key = null, api_secret = null } = data;
    return { customer, created, accounts, webhooks, apiKey: api_key, apiSecret: api_secret };
  }

  /**
   * Creates the customer with this external id, or gets the one that exists, which is not changed. However many programs ask at the same moment, one
   * customer is created.
   * @returns it, with secrets only if it was created now. If `apiKey` is null where you need it, create a new one.
   * @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError}
   */
  getOrCreate(customer: CustomerToCreate & { externalId: string }): Promise<CreatedCustomer> {
    return this.create(customer);
  }

  /** Iterates over customers, the oldest first. It reads page after page. @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError} */
  async *list(
    { name, externalId, ownerOf, perPage }: CustomersQuery = {},
    { signal }: Signalled = {},
  ): AsyncGenerator<Customer> {
    const { client, url } = this.#sender;
    const query = { name, external_id: externalId, owner_of: ownerOf, per_page: perPage };
    const read = (cursor: { cursor?: string }) =>
      client.get<ListCustomersResponses, ListCustomersErrors, true>({
        url: '/v1/customers',
        query: { ...query, ...cursor },
        ...signalOf(signal),
      });
    for await (const { customers } of readPagesOf(url, read)) yield* customers;
  }

  /** @returns the customer, with its counts and what is wrong now. @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError} */
  async get(id: number | string): Promise<CustomerDetails> {
    const { data } = await this.#sender.client.get<GetCustomerResponses, GetCustomerErrors, true>({
      url: '/v1/customers/{id}',
      path: { id },
    });
    return data.customer;
  }

  /** Changes the name, the external id or the metadata. @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError} */
  async update(id: number | string, { externalId, ...rest }: CustomerUpdate): Promise<Customer> {
    const { data } = await this.#sender.client.patch<UpdateCustomerResponses, UpdateCustomerErrors, true>({
      url: '/v1/customers/{id}',
      path: { id },
      body: { ...rest, ...(externalId === undefined ? {} : { external_id: externalId }) },
      headers: JSON_BODY,
    });
    return data.customer;
  }

  /**
   * Deletes a customer with everything that belongs to it. This cannot be undone.
   * @param confirm the name of the customer, so that no other is deleted by mistake.
   * @returns the customer, which is being deleted. @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError}
   */
  async delete(id: number | string, { confirm }: { confirm: string }): Promise<Customer> {
    const { data } = await this.#sender.client.delete<DeleteCustomerResponses, DeleteCustomerErrors, true>({
      url: '/v1/customers/{id}',
      path: { id },
      query: { confirm },
    });
    return data.customer;
  }
}

/** The operators' tokens. They need a token with the role admin. */
export class OperatorTokens {
  readonly #sender: Sender;

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /**
   * Creates a token.
   * @returns its id, and the token, which is shown only once. null: the answer with it was lost. Delete it then, and create another.
   * @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError}
   */
  async create({
    expiresAt,
    ...rest
  }: OperatorTokenToCreate): Promise<CreateOperatorTokenResponse['operator_token']> {
    const { data } = await this.#sender.client.post<
      CreateOperatorTokenResponses,
      CreateOperatorTokenErrors,
      true
    >({
      url: '/v1/operator-tokens',
      body: { ...rest, ...(expiresAt === undefined ? {} : { expires_at: expiresAt }) },
      headers: JSON_BODY,
    });
    return data.operator_token;
  }

  /** Iterates over all tokens, the oldest first, without the tokens themselves. @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError} */
  async *list(
    { perPage }: { perPage?: number } = {},
    { signal }: Signalled = {},
  ): AsyncGenerator<OperatorToken> {
    const { client, url } = this.#sender;
    const read = (cursor: { cursor?: string }) =>
      client.get<ListOperatorTokensResponses, ListOperatorTokensErrors, true>({
        url: '/v1/operator-tokens',
        query: { per_page: perPage, ...cursor },
        ...signalOf(signal),
      });
    for await (const page of readPagesOf(url, read)) yield* page.operator_tokens;
  }

  /** Deletes a token. Requests with it are then answered 401. @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError} */
  async delete(id: number | string): Promise<void> {
    await this.#sender.client.delete<DeleteOperatorTokenResponses, DeleteOperatorTokenErrors, true>({
      url: '/v1/operator-tokens/{id}',
      path: { id },
    });
  }
}

/** The audit log. */
export class Audit {
  readonly #sender: Sender;

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /** Iterates over changes, the newest first. It reads page after page. @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError} */
  async *list(
    { customer, perPage, ...rest }: AuditQuery = {},
    { signal }: Signalled = {},
  ): AsyncGenerator<AuditChange> {
    const { client, url } = this.#sender;
    const headers = customer === undefined ? {} : customerHeader(customer);
    const read = (cursor: { cursor?: string }) =>
      client.get<ListChangesResponses, ListChangesErrors, true>({
        url: '/v1/audit',
        headers,
        query: { ...rest, per_page: perPage, ...cursor },
        ...signalOf(signal),
      });
    for await (const { changes } of readPagesOf(url, read)) yield* changes;
  }
}

const JSON_BODY = { 'Content-Type': 'application/json' };

const signalOf = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal });
