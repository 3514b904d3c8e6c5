import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkEvidence } from './checker.ts';
import type { MysqlSetup, RedisSetup } from './clusters.ts';
import { repair, waitForCompletion } from './completion.ts';
import { createDice } from './dice.ts';
import { readListing, readTables } from './evidence.ts';
import { type InjectedFault, inject, thirdOf } from './faults/inject.ts';
import { findLeaks } from './leaks.ts';
import { runClient } from './load/client.ts';
import { newFeedRecord, runFeedReader } from './load/feed-reader.ts';
import { sendOldMovements } from './load/old-movements.ts';
import { newPollerRecord, runPoller } from './load/poller.ts';
import { runStatementClient } from './load/statement-client.ts';
import { dropStatements, uploadStatements } from './load/statement-senders.ts';
import { newClientRecord } from './load/upload.ts';
import { withdrawStatements } from './load/withdraw.ts';
import { type FaultKind, isReceiverFault, makePlan, type PlannedFault } from './plan.ts';
import { readReceipts } from './receipts.ts';
import { findPauses, renderPauses } from './recovery.ts';
import { type Outcome, outcomeOf } from './report.ts';
import { type Installation, startInstallation } from './service.ts';
import { findWrongStatements, watch } from './watcher.ts';

const SECOND = 1_000;
const CUSTOMERS = 3;
const CLIENTS_PER_CUSTOMER = 2;

const NOTHING_OLD = { movements: [], importIds: [] };

export interface RunOptions {
  seed: number;
  /** How long the load lasts. Repairing and checking come on top. */
  minutes: number;
  kinds: readonly FaultKind[];
  mysql?: MysqlSetup;
  redis?: RedisSetup;
  processes?: string;
  /** Seconds between the beginnings of two faults, on average. */
  gap: number;
  /** Movements per second, of all customers together. */
  rate: number;
  /** Seconds that all deliveries may take after everything is repaired. */
  waitLimit: number;
  /** Keeps the directory of the run, with logs and data, whatever the result. */
  keep: boolean;
  announce: (line: string) => void;
  /** When it is aborted, the run ends early and leaves no process behind. */
  signal: AbortSignal;
}

/** Runs load and faults together, repairs everything, waits until all is delivered, and checks the result. */
export async function run(options: RunOptions): Promise<Outcome> {
  const { announce, signal, keep } = options;
  const installation = await startInstallation({
    customers: CUSTOMERS,
    mysql: options.mysql ?? 'alone',
    redis: options.redis ?? 'alone',
    processes: options.processes ?? '',
    announce,
  });
  let clean = false;
  try {
    announce(`Everything runs; logs and data are in ${installation.directory}`);
    const outcome = await stress(installation, options);
    clean = outcome.clean;
    return outcome;
  } finally {
    await installation.end(!keep && (clean || signal.aborted));
  }
}

async function stress(installation: Installation, options: RunOptions): Promise<Outcome> {
  const { seed, minutes, kinds, gap, rate, waitLimit, announce, signal } = options;
  const { customers, clock, webhooks, feeds } = installation;
  const target = {
    get url() {
      return installation.url;
    },
  };
  const possible = kinds.filter(
    (kind) =>
      (!kind.startsWith('clock') || clock.canJump) &&
      (kind !== 'mysql disk full' || installation.mysql.disk !== null),
  );
  const plan = makePlan({ seed, minutes, kinds: possible, gap });

  const loadOver = new AbortController();
  const pollersOver = new AbortController();
  signal.addEventListener('abort', () => loadOver.abort());
  const clientRecord = newClientRecord();
  const old = possible.includes('old rows')
    ? await sendOldMovements(installation, clientRecord, createDice(seed + 2))
    : NOTHING_OLD;
  const clients = customers.flatMap(({ id, apiKey, accountIds }) =>
    Array.from({ length: CLIENTS_PER_CUSTOMER }, (_, n) =>
      runClient({
        name: `c${id}k${n}`,
        target,
        apiKey,
        customerId: id,
        accountIds,
        rate: rate / CUSTOMERS / CLIENTS_PER_CUSTOMER,
        dice: createDice(seed * 1_000 + Number(id) * 10 + n),
        record: clientRecord,
        stopping: loadOver.signal,
      }),
    ),
  );
  const statementClients = customers.flatMap((customer) =>
    [customer.uploadAccount, customer.folderAccount].map((account) => {
      const name = `c${customer.id}a${account.id}`;
      const dice = createDice(seed * 1_000 + Number(account.id));
      const uploader = { name, target, apiKey: customer.apiKey, dice, record: clientRecord };
      const isUpload = account === customer.uploadAccount;
      return runStatementClient({
        name,
        customerId: customer.id,
        account,
        rate: rate / CUSTOMERS / CLIENTS_PER_CUSTOMER,
        dice,
        record: clientRecord,
        send: isUpload ? uploadStatements(uploader) : dropStatements(customer.folder, dice, loadOver.signal),
        ...(isUpload ? { withdraw: withdrawStatements(uploader, account.id) } : {}),
        stopping: loadOver.signal,
      });
    }),
  );
  const pollerRecords = customers.map(({ id }) => newPollerRecord(id));
  const pollers = customers.map(({ apiKey }, n) => {
    const record = pollerRecords[n] ?? newPollerRecord('');
    return runPoller({ target, apiKey, every: 250 }, record, pollersOver.signal);
  });

  const feedRecords = feeds.map(({ id }) => newFeedRecord(id));
  const feedReaders = feeds.map((feed, n) => {
    const { id, customer } = feed;
    const { apiKey, apiSecret } = customer;
    const dice = createDice(seed * 1_000 + 500 + Number(id));
    return runFeedReader(
      { target, apiKey, apiSecret, feed, dice },
      feedRecords[n] ?? newFeedRecord(id),
      pollersOver.signal,
    );
  });

  setMaxListeners(0, loadOver.signal); // Each client and each wait adds one.
  const watching = watch(installation, loadOver.signal);
  const faults = await injectAll(installation, plan, options);
  loadOver.abort();
  const wrongStatements = findWrongStatements(await watching, faults);
  signal.throwIfAborted();
  announce('The load is over; everything is repaired, and the run waits until nothing is pending.');
  await repair(installation);
  await Promise.race([Promise.all([...clients, ...statementClients]), sleep(waitLimit * SECOND)]);
  const left = await waitForCompletion(installation, waitLimit, signal);
  pollersOver.abort();
  await Promise.race([Promise.all([...pollers, ...feedReaders]), sleep(60 * SECOND)]);
  const wrongBooks = await installation.verifyBooks();
  const listings = await Promise.all(customers.map((customer) => readListing(installation.url, customer)));

  const roles = [...new Set(installation.roles.values())];
  const ends = await Promise.all(roles.map(async (role) => ({ name: role.name, how: await role.end() })));
  const leaks = await findLeaks(installation);
  const receipts = readReceipts(installation.receiptsFile);
  const thirds = [0, 1, 2].map((third) => new Set(thirdOf(installation, third)));
  const wereMadeOld = faults.some(({ kind }) => kind === 'old rows');
  const verdict = checkEvidence({
    sent: clientRecord.sent,
    asked: clientRecord.withdrawals,
    listings,
    ...(await readTables(installation, wereMadeOld ? old.importIds : [])),
    old: wereMadeOld ? old.movements : [],
    webhooks,
    receipts,
    pollers: pollerRecords,
    feeds,
    feedRecords,
    faults: (options.processes ?? '') === '' ? faults : faults.map(asSupervised),
    affected: ({ kind, which }, webhookId) =>
      !isReceiverFault(kind) || (thirds[which]?.has(webhookId) ?? false),
  });
  return outcomeOf({
    seed,
    minutes,
    faults,
    clientRecord,
    pollerRecords,
    feedRecords,
    left,
    wrongBooks,
    wrongStatements,
    leaks,
    verdict,
    pauses: renderPauses(findPauses(faults, clientRecord.sent, receipts)),
    ownEnds: roles.flatMap(({ ownEnds }) => ownEnds),
    badEnds: ends.filter(({ how }) => how !== '0').map(({ name, how }) => `${name}: ${how}`),
    leftOut: [
      ...(clock.canJump || !kinds.some((kind) => kind.startsWith('clock'))
        ? []
        : ['the clock did not jump: libfaketime is not installed']),
      ...(installation.mysql.disk === null && kinds.includes('mysql disk full')
        ? ['the disk was not filled: this user may not mount one']
        : []),
    ],
  });
}

/**
 * Injects each fault at its time, regardless of the others.
 * @returns all faults, when the last one is repaired and the time of the load is over.
 */
async function injectAll(
  installation: Installation,
  plan: readonly PlannedFault[],
  { seed, minutes, announce, signal }: RunOptions,
): Promise<InjectedFault[]> {
  const begun = performance.now();
  setMaxListeners(0, signal); // Each fault that is still to come adds one.
  const dice = createDice(seed + 1);
  const waitUntil = (seconds: number) =>
    sleep(Math.max(0, seconds * SECOND - (performance.now() - begun)), undefined, { signal });
  try {
    const faults = plan.map(async (fault) => {
      await waitUntil(fault.at);
      announce(`${fault.at.toFixed(1).padStart(7)} s  ${fault.kind} ${fault.which} for ${fault.seconds} s`);
      const injected = await inject(installation, fault, dice);
      if (injected.note !== '') announce(`           ${fault.kind}: ${injected.note}`);
      return injected;
    });
    const injected = await Promise.all(faults);
    await waitUntil(minutes * 60);
    return injected;
  } catch (error) {
    if (signal.aborted) return [];
    throw error;
  }
}

/** Two processes of a supervisor share all roles, and the second of each is the supervisor, with which both end. */
function asSupervised(fault: InjectedFault): InjectedFault {
  const isKill = /^kill (api|importer|delivery|maintenance)$/.test(fault.kind);
  const delivers = fault.which === 1 || fault.kind === 'kill maintenance';
  return isKill && delivers ? { ...fault, kind: 'kill delivery' } : fault;
}
