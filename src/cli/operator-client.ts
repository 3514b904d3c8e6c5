import { resolve } from 'node:path';
import * as v from 'valibot';
import type { Config } from '../platform/config.ts';
import { LAST_PORT } from '../platform/whole-numbers.ts';
import { findLocalTokens } from '../servers/local-token.ts';
import { type Api, createHttpClient, defaultUrl, RefusedError, UnreachableError } from './api-client.ts';
import { type CommandContext, Failure } from './context.ts';
import { currentOperator, MISSING, type Subject, wordsOf } from './owner.ts';

/** Calls the operators' API for the commands, with an operator's token. */

/** Where the operators' API is, and the token for it. */
export interface OperatorAccess {
  url: string;
  token: string;
  /** Whether a service on this machine has left the token for its own users. */
  isLocal: boolean;
}

/**
 * Finds the operators' API. With LEDGERBELL_OPERATOR_TOKEN it is at LEDGERBELL_OPS_URL, or at OPS_HOST and OPS_PORT of this
 * configuration. Without, it is that of the newest service that runs on this machine with this DATA_DIR.
 * @throws {UnreachableError} when no service can be found. {Failure} when a variable is missing.
 */
export function findOperatorAccess({
  readConfig,
  readClientConfig,
}: Pick<CommandContext, 'readConfig' | 'readClientConfig'>): OperatorAccess {
  const { opsUrl, operatorToken: token } = readClientConfig();
  if (token !== undefined) {
    const url = opsUrl?.href ?? defaultOpsUrl(readConfig());
    if (url !== undefined) return { url, token, isLocal: false };
    throw new Failure(
      'LEDGERBELL_OPS_URL must be set with LEDGERBELL_OPERATOR_TOKEN, because OPS_PORT of this configuration says no port.',
    );
  }
  // The newest service of this machine may be another than the one at that address.
  if (opsUrl !== undefined) {
    throw new Failure(
      `LEDGERBELL_OPERATOR_TOKEN must be set when LEDGERBELL_OPS_URL is: it is the token for ${opsUrl.href}.`,
    );
  }
  const config = readConfig();
  const [newest] = findLocalTokens(config);
  if (newest !== undefined) return { url: newest.url, token: newest.token, isLocal: true };
  const tried = defaultOpsUrl(config);
  throw new UnreachableError(
    `No running service has left a token for this user and DATA_DIR ${resolve(config.dataDir)}: start one (ledgerbell start), or set LEDGERBELL_OPERATOR_TOKEN, and LEDGERBELL_OPS_URL ${
      tried === undefined ? 'to say where the service is' : `if the service is not at ${tried}`
    }.`,
  );
}

/** @returns undefined when the service takes any free port. */
function defaultOpsUrl({ opsHost: host, opsPort, port }: Config): string | undefined {
  const isAnyPort = opsPort === 0 || (opsPort === undefined && (port === 0 || port === LAST_PORT));
  return isAnyPort ? undefined : defaultUrl({ host, port: opsPort ?? port + 1 });
}

/** How a customer is named by the id that the customer's own system has for it. */
const EXTERNAL = 'external_id:';

/**
 * Creates a client of the operators' API. It fails as the client of `createApi` does.
 * @param customer for whom the requests act: an id, or `external_id:` and the id of another system, as it is. undefined: for no customer.
 */
export const createOperatorApi = (access: OperatorAccess, customer?: string): Api =>
  createFollowingApi(() => access, access.isLocal, customer);

/** @param find the access, for each request. */
function createFollowingApi(find: () => OperatorAccess, isLocal: boolean, customer?: string): Api {
  const headers = {
    ...(customer === undefined ? {} : { 'ledgerbell-customer': encodeCustomer(customer) }),
    // The local token belongs to the machine, so the audit log needs the name of the person.
    ...(isLocal ? { 'ledgerbell-user': encodeURIComponent(currentOperator().name) } : {}),
  };
  const hint = isLocal
    ? 'The service on this machine is starting or stopping: try again, or start it (ledgerbell start).'
    : 'Start the service (ledgerbell start), or set LEDGERBELL_OPS_URL to where its listener for operators is.';
  return createHttpClient(() => {
    const { url, token } = find();
    return {
      url,
      headers: { authorization: `Bearer ${token}`, ...headers },
    };
  }, hint);
}

const encodeCustomer = (customer: string): string =>
  customer.startsWith(EXTERNAL)
    ? `${EXTERNAL}${encodeURIComponent(customer.slice(EXTERNAL.length))}`
    : encodeURIComponent(customer);

const Customer = v.looseObject({ id: v.number(), name: v.string() });
const OneCustomer = v.looseObject({ customer: Customer });
const Customers = v.looseObject({ customers: v.array(Customer) });

/**
 * Finds the customer that owns the object of a command, also when the object's customer was not named.
 * @param api without a customer.
 * @param id for a delivery, the id of its webhook.
 * @returns the customer's id.
 * @throws {Failure} when there is no such object.
 */
export async function findOwner(api: Api, kind: Subject['kind'], id: string): Promise<string> {
  const object = `${kind}:${encodeURIComponent(id)}`;
  const { customers } = await api.get(`/v1/customers?owner_of=${object}`, Customers);
  const [owner] = customers;
  if (owner === undefined) throw new Failure(MISSING[kind]);
  return String(owner.id);
}

/**
 * Runs `work` with a client of the operators' API that acts for a customer: the customer that the command names, or the owner of the
 * command's subject.
 * @param customer an id, or `external_id:` and an external id.
 * @throws {Failure} when there is neither, or the subject does not belong to the customer.
 */
export async function withCustomer<T>(
  context: CommandContext,
  { customer, subject }: { customer: string | undefined; subject: Subject | undefined },
  work: (api: Api) => Promise<T>,
): Promise<T> {
  if (customer === undefined && subject === undefined)
    throw new Failure(
      'Say for which customer: give --customer <id> as the operator, or an API key with --key or LEDGERBELL_API_KEY.',
    );
  const access = findOperatorAccess(context);
  try {
    const owner = subject === undefined ? customer : await findOwnerFor(access, customer, subject);
    // A service that is started again has another token, and a command such as `feed` goes on.
    const find = () => (access.isLocal ? findOperatorAccess(context) : access);
    return await work(createFollowingApi(find, access.isLocal, owner));
  } catch (error) {
    throw explainCustomer(error);
  }
}

async function findOwnerFor(
  access: OperatorAccess,
  customer: string | undefined,
  { kind, id }: Subject,
): Promise<string> {
  const api = createOperatorApi(access);
  const owner = await findOwner(api, kind, id);
  if (customer === undefined || customer === owner) return owner;
  if (owner !== (await findCustomer(api, customer)))
    throw new Failure(`The ${wordsOf(kind)} does not belong to customer ${customer}.`);
  return owner;
}

/** @returns the id of the customer. @throws {Failure} when there is none. */
async function findCustomer(api: Api, name: string): Promise<string> {
  if (!name.startsWith(EXTERNAL)) {
    const { customer } = await api.get(`/v1/customers/${name}`, OneCustomer);
    return String(customer.id);
  }
  const externalId = encodeURIComponent(name.slice(EXTERNAL.length));
  const { customers } = await api.get(`/v1/customers?external_id=${externalId}`, Customers);
  const [customer] = customers;
  if (customer === undefined) throw noCustomer('external id');
  return String(customer.id);
}

/** Adds to the API's answer that there is no such customer how the operator finds the right one. */
export function explainCustomer(error: unknown): unknown {
  if (!(error instanceof RefusedError) || error.problem !== 'unknown-customer') return error;
  return noCustomer(error.message.includes('external id') ? 'external id' : 'id');
}

const noCustomer = (name: string) =>
  new Failure(`There is no customer of that ${name}. List the customers with: ledgerbell customers list`);
