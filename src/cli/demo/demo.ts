import { once } from 'node:events';
import * as v from 'valibot';
import { areBooksRight, verifyBooks } from '../../books/verify-books.ts';
import { PortTakenError } from '../../http/listener.ts';
import type { Config } from '../../platform/config.ts';
import { formatCount } from '../../platform/text.ts';
import type { Service } from '../../service.ts';
import { startAll } from '../../supervisor/start-all.ts';
import { describeBooks } from '../commands/verify.ts';
import { Failure } from '../context.ts';
import { followImport, ImportAnswer, type ImportState } from '../import-progress.ts';
import {
  type BankMonth,
  createDemoCustomer,
  type DemoCustomer,
  type ExampleMovement,
  firstDate,
  importBankMonth,
  matches,
  readBankMonth,
  readStatement,
  renderNdjson,
  type Statement,
  SUBSCRIPTIONS,
} from './demo-customer.ts';
import { findProblems, NO_PROGRESS, type Outcome, renderOutcomes, watchDeliveries } from './report.ts';
import type { Screen } from './screen.ts';
import { type Subscriber, startSubscriber } from './subscriber.ts';

/** The demo: takes a bank statement through the whole path, from its import to receivers that verify every notification. */

export interface DemoOptions {
  config: Config;
  /** Ends when everything is delivered, instead of running until `signal`. */
  once: boolean;
  screen: Screen;
  signal: AbortSignal;
}

/**
 * Runs a bank statement through the whole path, from its import to receivers that verify every notification.
 * @returns whether every expected notification was received and verified.
 * @throws {Error} with one sentence when the service cannot be started, or when `signal` is aborted before the end.
 */
export async function runDemo(options: DemoOptions): Promise<boolean> {
  const { config, screen, signal } = options;
  screen.title(
    'Ledgerbell: a bank statement goes in, signed notifications come out, and every one is checked.',
  );
  const service = await startOnSomePort(options);
  const subscribers: Subscriber[] = [];
  try {
    continueUnless(signal);
    screen.done(`Service with its own MySQL and Redis started: ${service.url}, data in ${config.dataDir}`);
    for (const subscription of SUBSCRIPTIONS) subscribers.push(await startSubscriber(subscription));
    const customer = await createDemoCustomer(service);
    const statement = await readStatement();
    const month = await readBankMonth();
    const succeeded = await runSteps(options, service, customer, subscribers, { statement, month });
    if (options.once)
      screen.line('Without --once the demo stays up, with its API, docs, console and queues to look at.');
    else await stayUp(screen, service, listingCommand(service.url, customer.key, statement), signal);
    return succeeded;
  } finally {
    await service.stop();
    for (const subscriber of subscribers) await subscriber.close();
  }
}

/** Starts the service on the configured port, or on any free port if that port was taken after it was checked. */
export async function startOnSomePort({
  config,
  screen,
  signal,
}: Omit<DemoOptions, 'once'>): Promise<Service> {
  const start = (port: number) =>
    startAll({ config: { ...config, port }, announce: (line) => screen.line(line), signal });
  try {
    return (await start(config.port)).service;
  } catch (error) {
    if (!(error instanceof PortTakenError)) throw error;
    return (await start(0)).service;
  }
}

async function runSteps(
  { screen, signal }: DemoOptions,
  { runtime }: Service,
  customer: DemoCustomer,
  subscribers: readonly Subscriber[],
  { statement, month }: { statement: Statement; month: BankMonth },
): Promise<boolean> {
  const { accounts, movements } = statement;
  const all = [...movements, ...month.movements, ...month.laterMovements];
  const accountIds = await customer.addAccounts(accounts);
  const banks = new Set(accounts.map(({ bank }) => bank));
  screen.done(`Customer ${customer.id} with ${accounts.length} accounts at ${[...banks].join(' and ')}`);

  const webhookIds: string[] = [];
  for (const subscriber of subscribers) webhookIds.push(await customer.subscribe(subscriber, accountIds));
  screen.done(`${webhookIds.length} webhooks, each with a receiver of its own; one receiver fails two calls`);

  const file = renderNdjson(movements, accountIds);
  const first = await send(customer, file, signal);
  screen.done(
    `${formatCount(movements.length)} movements imported: ${formatCount(first.inserted)} stored, ${formatCount(first.deliveries)} deliveries`,
  );
  const second = await send(customer, file, signal);
  screen.done(
    `The same file sent again: ${second.inserted} new, ${formatCount(second.duplicates)} known already`,
  );

  const conflictProblems = await makeConflict(customer, movements[0], accountIds, screen);
  const problems = await importBankMonth(customer, month, { screen, signal });

  const progress = await watchDeliveries(runtime.database, webhookIds, { screen, signal });
  if (progress.every(({ pending }) => pending === 0)) screen.done('Nothing is left to be delivered');
  else screen.failed('After two minutes there are still deliveries pending');
  const listed = await customer.list(firstDate(statement));
  screen.done(`GET /v1/transactions lists ${formatCount(listed.length)} movements`);
  const books = await verifyBooks(runtime.database, customer.id, { from: null, to: null });
  const areRight = areBooksRight(books) && books.pending.length === 0;
  if (areRight) screen.done('The books are right: statements, movements and deliveries agree');

  const accountOf = (ref: string) => accountIds.get(ref) ?? '';
  const outcomes = subscribers.map((subscriber, at): Outcome => {
    const { subscription } = subscriber;
    const account = accounts.find(({ ref }) => ref === subscription.accountRef);
    return {
      subscriber,
      accountTitle: account?.title ?? 'all',
      expected: all.filter((movement) => matches(subscription, movement)).length,
      matched: listed.filter((movement) => matches(subscription, movement, accountOf)),
      progress: progress[at] ?? NO_PROGRESS,
    };
  });
  screen.line();
  for (const row of renderOutcomes(outcomes)) screen.line(row);
  screen.line();
  screen.line(
    `stored in total: ${formatCount(listed.length)} movements; duplicates stored: ${listed.length - all.length}`,
  );
  screen.line(
    'matched: counted in the files. delivered: committed in MySQL. verified: signature and hash at the receiver.',
  );
  screen.line();
  return showResult(screen, [
    ...findImportProblems(movements.length, first, second),
    ...conflictProblems,
    ...problems,
    ...(areRight ? [] : [describeBooks(books, areRight)]),
    ...(listed.length === all.length
      ? []
      : [`${all.length} movements should be listed, ${listed.length} are.`]),
    ...findProblems(outcomes),
  ]);
}

const ConflictList = v.looseObject({ conflicts: v.array(v.looseObject({ id: v.number() })) });

/** Sends a movement again with another amount, and decides that the stored movement is right. @returns the problems. */
async function makeConflict(
  { api }: DemoCustomer,
  movement: ExampleMovement | undefined,
  accountIds: ReadonlyMap<string, string>,
  screen: Screen,
): Promise<string[]> {
  if (movement === undefined) return ['There is no movement.'];
  const row = { ...movement, account_id: accountIds.get(movement.account_id), amount: '777.00' };
  const { import: sent } = await api.post('/v1/imports', { transactions: [row] }, ImportAnswer);
  const { conflicts } = await api.get('/v1/conflicts?status=open', ConflictList);
  for (const { id } of conflicts) await api.post(`/v1/conflicts/${id}`, { decision: 'ignore' }, v.unknown());
  screen.done(
    `A known id with another amount: ${sent.inserted} new, ${sent.conflicts} conflict, which was decided`,
  );
  return sent.conflicts === 1 && conflicts.length === 1 ? [] : ['The known id was no conflict.'];
}

async function send({ api }: DemoCustomer, body: Buffer, signal: AbortSignal): Promise<ImportState> {
  const upload = { type: 'application/x-ndjson', bytes: body.length, body };
  const accepted = await api.upload('/v1/imports', upload, ImportAnswer);
  return followImport(api, accepted.import, { onState: () => {}, signal });
}

function findImportProblems(rows: number, first: ImportState, second: ImportState): string[] {
  return [
    ...(first.inserted === rows ? [] : [`${rows} movements were sent, ${first.inserted} were stored.`]),
    ...(second.inserted === 0 ? [] : [`The second import stored ${second.inserted} movements again.`]),
  ];
}

/** @returns whether there are no problems. */
function showResult(screen: Screen, problems: readonly string[]): boolean {
  if (problems.length === 0) screen.done('Every expected notification was delivered, received and verified.');
  for (const problem of problems) screen.failed(problem);
  screen.line();
  return problems.length === 0;
}

async function stayUp(screen: Screen, service: Service, command: string, signal: AbortSignal): Promise<void> {
  showPages(screen, service);
  screen.line();
  screen.line('The listing, as the demo’s customer sees it:');
  screen.line();
  screen.line(command);
  screen.line();
  await waitForCtrlC(screen, signal);
}

/** Prints the addresses of the pages to look at. */
export function showPages(screen: Screen, { url, opsUrl }: Service): void {
  screen.line(`Docs     ${url}/docs`);
  screen.line(`Console  ${opsUrl}/ops`);
  screen.line(`Queues   ${opsUrl}/ops/queues`);
}

export async function waitForCtrlC(screen: Screen, signal: AbortSignal): Promise<void> {
  screen.line('Ctrl-C ends the demo.');
  if (!signal.aborted) await once(signal, 'abort');
  screen.line('Stopping …');
}

const listingCommand = (url: string, key: string, statement: Statement) =>
  `curl -s -H 'Authentication: ${key}' '${url}/v1/transactions?starts=${firstDate(statement)}&per_page=3'`;

/** @throws {Failure} when `signal` is aborted. */
export function continueUnless(signal: AbortSignal): void {
  if (signal.aborted) throw new Failure('Interrupted.');
}
