import { type Command, Option } from 'commander';
import * as v from 'valibot';
import { type Api, createApi, defaultUrl, RefusedError } from './api-client.ts';
import { type CommandContext, Failure } from './context.ts';
import type { Subject } from './owner.ts';
import { parseCustomer, parseHttpUrl } from './values.ts';

/** The options that say for whom a command acts, and how it reaches the API. */

/** The options of every command that sends a request to the API. */
export interface AccessOptions {
  customer?: string;
  key?: string;
  url?: URL;
  json?: boolean;
}

/** Adds the options that say for whom a command acts. */
export const addCallerOptions = (command: Command) =>
  command
    .addOption(
      new Option('--customer <id>', 'as the operator, for this customer: its id, or external_id:<id>')
        .argParser(parseCustomer)
        .conflicts(['key', 'url']),
    )
    .option('--key <api key>', 'with this API key, over HTTP (default: LEDGERBELL_API_KEY)')
    .option(
      '--url <url>',
      'where the service is (default: LEDGERBELL_URL, else HOST and PORT of this configuration)',
      parseHttpUrl,
    );

/** The same, with --json. */
export const addAccessOptions = (
  command: Command,
  json = 'print the answer of the API as one JSON document',
) => addCallerOptions(command).option('--json', json);

/**
 * Runs `work` with a client of the API. With an API key, it sends requests to the API. Without one, or with --customer, it sends them to
 * the operators' API, for the customer.
 * @param about the subject of the command, so that an operator need not name the customer, and the fields of the API for which the command
 * has an option. Default: all.
 * @throws {Failure} names the option if a value is wrong, or the address if no service answers.
 */
export async function withAccess<T>(
  context: CommandContext,
  { customer, key, url }: AccessOptions,
  { subject, fields }: { subject?: Subject; fields?: readonly string[] },
  work: (api: Api) => Promise<T>,
): Promise<T> {
  try {
    const client = customer === undefined ? context.readClientConfig() : undefined;
    const apiKey = key ?? client?.apiKey;
    if (apiKey !== undefined) {
      return await withApi(context, { url: url ?? client?.url, key: apiKey }, work);
    }
    if (url !== undefined) throw new Failure('--url needs an API key: give --key, or LEDGERBELL_API_KEY.');
    const { withCustomer } = await import('./operator-client.ts');
    return await withCustomer(context, { customer, subject }, work);
  } catch (error) {
    throw withOptionName(error, fields);
  }
}

/** Runs `work` with a client of the operators' API, for no customer. @throws {Failure} as `withAccess` does. */
export async function withOperator<T>(context: CommandContext, work: (api: Api) => Promise<T>): Promise<T> {
  const { createOperatorApi, explainCustomer, findOperatorAccess } = await import('./operator-client.ts');
  try {
    return await work(createOperatorApi(findOperatorAccess(context)));
  } catch (error) {
    throw withOptionName(explainCustomer(error));
  }
}

/**
 * Runs `work` with a client of the API at `url`, or at the address of this configuration.
 * @throws {Failure} when no service answers, or when it does not know the key.
 */
async function withApi<T>(
  { readConfig }: CommandContext,
  { url, key }: { url: URL | undefined; key: string },
  work: (api: Api) => Promise<T>,
): Promise<T> {
  const api = createApi(url?.href ?? defaultUrl(readConfig()), key);
  await probe(api);
  return work(api);
}

/** Checks that the service answers and knows the key before a large file is sent. Accepts a 403, which a key without the scope `read` gets. */
const probe = (api: Api) =>
  api.get('/v1/banks', v.object({ banks: v.array(v.unknown()) })).catch((error: unknown) => {
    if (!(error instanceof RefusedError && error.status === 403)) throw error;
  });

/** Options whose names differ from the fields of the API. */
const OPTION_OF: Readonly<Record<string, string>> = {
  account_id: 'account',
  batch: 'batch-max',
  expires_at: 'expires',
};

/**
 * Returns an error that names the command's option instead of the API's field, such as `account.0`.
 * @param fields for which the command has an option. Default: all.
 */
function withOptionName(error: unknown, fields?: readonly string[]): unknown {
  const [issue] = error instanceof RefusedError ? error.issues : [];
  const [field] = issue?.path.split('.') ?? [];
  if (issue === undefined || !field || fields?.includes(field) === false) return error;
  return new Failure(`--${OPTION_OF[field] ?? field.replaceAll('_', '-')} ${issue.message}.`);
}
