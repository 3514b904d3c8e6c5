import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as v from 'valibot';
import { CompletenessView } from '../../books/books-view.ts';
import { createCustomer } from '../../customers/customers.ts';
import type { Service } from '../../service.ts';
import { type Api, createApi } from '../api-client.ts';
import { followImport, ImportAnswer, type ImportState } from '../import-progress.ts';
import type { ListedMovement } from './report.ts';
import type { Screen } from './screen.ts';
import { failTwice, type Subscriber, type Subscription } from './subscriber.ts';

/** The demo's customer, with its accounts and webhooks. It uses the API like any client. */

export const Accounts = v.array(
  v.object({ ref: v.string(), bank: v.string(), title: v.string(), currency: v.string(), iban: v.string() }),
);

export type ExampleAccount = v.InferOutput<typeof Accounts>[number];

const PER_PAGE = 1_000;

const Id = v.pipe(v.number(), v.transform(String));
const AccountAnswer = v.object({ account: v.object({ id: Id }) });
const WebhookAnswer = v.object({ webhook: v.object({ id: Id, secret: v.string() }) });
const ListAnswer = v.object({
  transactions: v.array(
    v.object({
      id: Id,
      account_id: Id,
      dc: v.string(),
      amount: v.string(),
      date_issue: v.string(),
    }),
  ),
});

/** The receiver of a webhook. It learns the webhook's secrets. */
export type Addressee = Pick<Subscriber, 'subscription' | 'url' | 'learn'>;

/** The demo's customer. It uses the HTTP API like any client. */
export interface DemoCustomer {
  id: string;
  key: string;
  api: Api;
  /** @returns the id of each account by the example's `ref`. */
  addAccounts(accounts: readonly ExampleAccount[]): Promise<Map<string, string>>;
  /** Creates the subscriber's webhook, and gives the subscriber its secrets. @returns the webhook's id. */
  subscribe(subscriber: Addressee, accountIds: ReadonlyMap<string, string>): Promise<string>;
  /** Lists all movements from a date on, page by page. */
  list(starts: string): Promise<ListedMovement[]>;
}

export async function createDemoCustomer(
  { url, runtime }: Service,
  name = 'Ledgerbell demo',
): Promise<DemoCustomer> {
  const { customer, api_key: key, api_secret: apiSecret } = await createCustomer(runtime, name);
  const api = createApi(url, key);
  return {
    id: customer.id,
    key,
    api,
    async addAccounts(accounts) {
      const ids = new Map<string, string>();
      for (const { ref, ...fields } of accounts) {
        const { account } = await api.post('/v1/accounts', fields, AccountAnswer);
        ids.set(ref, account.id);
      }
      return ids;
    },
    async subscribe({ subscription, url: endpoint, learn }, accountIds) {
      const { title, event, accountRef, encoding, maxInFlight } = subscription;
      const account = accountRef === null ? 'all' : accountIds.get(accountRef);
      const { webhook } = await api.post(
        '/v1/webhooks',
        {
          title,
          endpoint,
          event,
          account,
          encoding,
          ...(maxInFlight === undefined ? {} : { max_in_flight: maxInFlight }),
        },
        WebhookAnswer,
      );
      learn({ secret: webhook.secret, apiSecret });
      return webhook.id;
    },
    async list(starts) {
      const listed: ListedMovement[] = [];
      for (let page = 1; ; page += 1) {
        const path = `/v1/transactions?starts=${starts}&per_page=${PER_PAGE}&page=${page}`;
        const { transactions } = await api.get(path, ListAnswer);
        listed.push(...transactions);
        if (transactions.length < PER_PAGE) return listed;
      }
    },
  };
}

export const SUBSCRIPTIONS: readonly Subscription[] = [
  { title: 'Everything', event: 'NEW_TRANSACTION', accountRef: null, encoding: 'json' },
  { title: 'Debits only', event: 'NEW_DEBIT', accountRef: null, encoding: 'json', behaviour: failTwice },
  { title: 'One account', event: 'NEW_TRANSACTION', accountRef: '2', encoding: 'form' },
];

/** Says whether a movement matches a webhook. Follows the API's contract and uses none of the product's code. */
export function matches(
  { event, accountRef }: Subscription,
  movement: { dc: string; account_id: string },
  accountOf: (ref: string) => string = (ref) => ref,
): boolean {
  if (accountRef !== null && movement.account_id !== accountOf(accountRef)) return false;
  return event === 'NEW_TRANSACTION' || movement.dc === 'Debit';
}

const AccountList = v.looseObject({
  accounts: v.array(v.looseObject({ id: v.number(), iban: v.nullable(v.string()) })),
});
const CompletenessAnswer = v.looseObject({ completeness: CompletenessView });
const Movement = v.looseObject({ account_id: v.string(), dc: v.string(), date_issue: v.string() });

/** A row of the file with all its fields. `account_id` is the `ref` of an account in the example. */
export type ExampleMovement = v.InferOutput<typeof Movement>;

export interface Statement {
  accounts: ExampleAccount[];
  movements: ExampleMovement[];
}

/** Reads the bank statement in examples/. */
export async function readStatement(): Promise<Statement> {
  const directory = findExamples(import.meta.dirname);
  const [accounts, rows] = await Promise.all([
    readFile(join(directory, 'accounts.json'), 'utf8'),
    readFile(join(directory, 'movements.ndjson'), 'utf8'),
  ]);
  return {
    accounts: v.parse(Accounts, JSON.parse(accounts)),
    movements: rows
      .trimEnd()
      .split('\n')
      .map((row) => v.parse(Movement, JSON.parse(row))),
  };
}

/** The earliest day of a statement, `YYYY-MM-DD`. */
export const firstDate = ({ movements }: Statement): string =>
  movements.map(({ date_issue }) => date_issue).sort()[0] ?? '';

/** Searches upwards, because examples/ is beside src/ and dist/, but this file is deeper in dist/ than in src/. */
function findExamples(from: string): string {
  const here = join(from, 'examples');
  if (existsSync(join(here, 'accounts.json'))) return here;
  if (dirname(from) === from) throw new Error('The folder examples is missing from this installation.');
  return findExamples(dirname(from));
}

/** Renders the rows as NDJSON for existing accounts. `ids` maps each `ref` to the id of its account. */
export function renderNdjson(
  movements: readonly ExampleMovement[],
  ids: ReadonlyMap<string, string>,
): Buffer {
  const lines = movements.map((movement) =>
    JSON.stringify({ ...movement, account_id: ids.get(movement.account_id) ?? movement.account_id }),
  );
  return Buffer.from(`${lines.join('\n')}\n`);
}

/** A month of one account, in two formats of the bank. */
export interface BankMonth {
  /** The entries in the order of the files. The files also name their account. */
  movements: readonly ExampleMovement[];
  mt940: Buffer;
  camt: Buffer;
  /** The two days after the month. Each has its own statement. */
  days: readonly [Buffer, Buffer];
  laterMovements: readonly ExampleMovement[];
}

/** Reads the bank's files in examples/. */
export async function readBankMonth(): Promise<BankMonth> {
  const directory = join(findExamples(import.meta.dirname), 'bank-files');
  const [mt940, camt, first, second] = await Promise.all(
    ['november.sta', 'november.xml', 'december-1.sta', 'december-2.sta'].map((name) =>
      readFile(join(directory, name)),
    ),
  );
  if (mt940 === undefined || camt === undefined || first === undefined || second === undefined)
    throw new Error('The bank’s files are missing.');
  return {
    movements: countEntries(mt940.toString()),
    laterMovements: [first, second].flatMap((file) => countEntries(file.toString())),
    mt940,
    camt,
    days: [first, second],
  };
}

/** The value date and the direction in :61:. RC is the reversal of a credit, which is a debit. RD is the reversal of a debit. */
const ENTRY = /^:61:(\d\d)(\d\d)(\d\d)(?:\d{4})?(RC|RD|C|D)/gm;

/** Finds the entries without the product's code, because the demo checks that code. */
const countEntries = (text: string): ExampleMovement[] =>
  [...text.matchAll(ENTRY)].map(([, year, month, day, mark = '']) => ({
    account_id: 'bank-files',
    dc: ['C', 'RD'].includes(mark) ? 'Credit' : 'Debit',
    date_issue: `20${year}-${month}-${day}`,
  }));

/**
 * Imports the month as MT940 and then as CAMT. Then imports the two days after it, the second day first.
 * @returns the problems, in one sentence each.
 */
export async function importBankMonth(
  { api }: DemoCustomer,
  { movements, mt940, camt, days }: BankMonth,
  { screen, signal }: { screen: Screen; signal: AbortSignal },
): Promise<string[]> {
  const send = async (body: Buffer): Promise<ImportState> => {
    const upload = { type: 'application/octet-stream', bytes: body.length, body };
    const accepted = await api.upload('/v1/imports?create_accounts=true', upload, ImportAnswer);
    return followImport(api, accepted.import, { onState: () => {}, signal });
  };
  const first = await send(mt940);
  screen.done(
    `A month of another account as MT940: ${first.inserted} stored, on the account that the file names`,
  );
  const second = await send(camt);
  screen.done(`The same month as CAMT: ${second.inserted} new, ${second.duplicates} known already`);
  const count = movements.length;

  const [day, nextDay] = days;
  await send(nextDay);
  const [account] = (await api.get('/v1/accounts?per_page=1000', AccountList)).accounts.filter(({ iban }) =>
    mt940.includes(iban ?? ' '),
  );
  const path = `/v1/accounts/${account?.id}/completeness`;
  const before = (await api.get(path, CompletenessAnswer)).completeness;
  const gap = before.periods.find(({ status }) => status === 'gap');
  await send(day);
  const after = (await api.get(path, CompletenessAnswer)).completeness;
  screen.done(
    `A day later, before the day itself: a gap of ${gap?.difference ?? 'nothing'} on ${gap?.from ?? 'no day'}, closed when its file came`,
  );
  return [
    ...(gap === undefined ? ['A missing statement was not noticed.'] : []),
    ...(after.status === 'complete' ? [] : [`With all statements, the account is ${after.status}.`]),
    ...(first.inserted === count
      ? []
      : [`The MT940 file has ${count} entries, ${first.inserted} were stored.`]),
    ...(second.inserted === 0 ? [] : [`The CAMT file stored ${second.inserted} movements again.`]),
    ...(second.duplicates === count
      ? []
      : [`The CAMT file has ${count} entries, ${second.duplicates} were known.`]),
  ];
}
