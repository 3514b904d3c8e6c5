import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type * as v from 'valibot';
import { lookAhead } from '../../packages/statements/src/peek.ts';
import type { Caller } from '../customers/caller.ts';
import { createBudget } from '../platform/budget.ts';
import { Problem } from '../platform/problem.ts';
import { ADVICE } from './advice.ts';
import { readDryAccounts } from './dry-run/dry-accounts.ts';
import { runDry } from './dry-run/dry-run.ts';
import { type DryRunView, viewDryRun } from './dry-run-view.ts';
import { fileEncoding } from './importer/file-encoding.ts';
import { createAccountFinder } from './importer/find-account.ts';
import { cutIntoParts } from './importer/parts.ts';
import { readStatementFile } from './importer/read-file.ts';
import { FORMATS } from './importer/rows.ts';
import { TooMuchToCompareError } from './known/decide-safely.ts';
import type { FileReader } from './parser-threads.ts';
import { isFormatName, NO_OPTIONS, type Upload } from './stage.ts';

const SECOND = 1_000;

/** How long a process works on one dry run. Waiting for the body does not count. */
const WORK_LIMIT = 60 * SECOND;

/** A dry run waits for its turn once its body, or this many bytes of it, have come. */
const BEGINNING = 64 * 1_024;

/**
 * How long a dry run whose turn has come may wait for the rest of its body: this many milliseconds, and more time for the bytes
 * that come at this rate per second.
 */
const PATIENCE = 30 * SECOND;
const SLOWEST = 10 * 1_024;

/**
 * Dry runs at the same time. They are few, because they slow down the process that answers all requests. A dry run that waits
 * longer than `patience` is refused.
 */
const AT_ONCE = { total: 4, perOwner: 1, patience: 5 * SECOND };

async function readOn(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of bytes);
}

/** The file to read, and how. */
type DryUpload = Pick<Upload, 'format' | 'statement' | 'unidentified' | 'body'>;

/** Creates a function that answers dry runs: it reads the body as an import does, and stores nothing. */
export function createDryRuns(database: DataSource, reader: FileReader) {
  const turns = createBudget(AT_ONCE);

  /** @throws {Problem} 408 when the body comes too slowly, 413 when reading takes too long, 503 when there are too many dry runs. */
  return async function answerDryRun(
    caller: Caller,
    { format, statement = NO_OPTIONS, unidentified = 'known', body }: DryUpload,
  ): Promise<v.InferOutput<typeof DryRunView>> {
    const begun = await lookAhead(Readable.from(body), readOn, BEGINNING);
    const release = await turns.reserve(caller.customerId, 1);
    if (release === null) throw tooManyDryRuns();
    try {
      const accounts = await readDryAccounts(database, caller);
      const { customerId } = caller;
      const limit = limitDryRun();
      const parts = cutIntoParts(limit.body(begun));
      const readRows = () => {
        if (isFormatName(format)) return FORMATS[format](parts);
        const findAccount = createAccountFinder({
          customerId,
          ...statement,
          accounts: accounts.all(),
          addAccount: accounts.add,
          completeAccount: async () => {},
        });
        return readStatementFile(parts, {
          reader,
          owner: customerId,
          format,
          profile: statement.profile,
          encoding: fileEncoding(accounts.all(), { ofSource: null, accountId: statement.accountId }),
          findAccount,
        });
      };
      const known = isFormatName(format) ? accounts.byId() : null;
      const run = await runDry(database, limit.rows(readRows()), {
        customerId,
        accounts: known,
        removedTime: accounts.removedTime,
        unidentified,
        policyOf: (id) => accounts.find(id)?.on_conflict ?? 'hold',
      }).catch((error: unknown) => {
        if (!(error instanceof TooMuchToCompareError)) throw error;
        throw error.isTemporary
          ? tooManyDryRuns()
          : new Problem('too-large', `${error.message} Nothing was stored.`);
      });
      return viewDryRun(run, format, accounts.find, caller.scopes.includes('read'));
    } finally {
      release();
    }
  };
}

/**
 * Limits how long a dry run works, and how long it waits for its body.
 * @param options.now milliseconds. `patience`: the wait that is allowed in addition to the time for the bytes that have come.
 * @returns functions that pass on the body, and the rows that are read from it. They throw a Problem: 408 when the body comes too slowly, 413
 * after a minute of work.
 */
export function limitDryRun({ now = () => performance.now(), patience = PATIENCE } = {}) {
  const began = now();
  let waited = 0;
  return {
    async *body(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      const iterator = bytes[Symbol.asyncIterator]();
      for (let received = 0; ; ) {
        const asked = now();
        const left = patience + (received / SLOWEST) * SECOND - waited;
        const come = new AbortController();
        const late = sleep(Math.max(left, 0), null, { signal: come.signal }).catch(() => null);
        const part = await Promise.race([iterator.next(), late]).finally(() => come.abort());
        waited += now() - asked;
        if (part === null || now() - asked > left) throw tooSlow();
        if (part.done) return;
        received += part.value.length;
        yield part.value;
      }
    },
    async *rows<T>(batches: AsyncIterable<T>): AsyncGenerator<T> {
      for await (const batch of batches) {
        if (now() - began - waited > WORK_LIMIT) throw tooMuchWork();
        yield batch;
      }
    },
  };
}

const tooSlow = () =>
  new Problem(
    'request-timeout',
    `The body of a dry run must come at ${SLOWEST / 1_024} KiB/s or more, or within ${PATIENCE / SECOND} s. Nothing was stored. Send it over a faster connection, or a part of it.`,
  );

const tooMuchWork = () =>
  new Problem(
    'too-large',
    `A dry run may take ${WORK_LIMIT / SECOND} s, and this file takes longer. Nothing was stored. ${ADVICE.notDry}, or try a part of it.`,
  );

const tooManyDryRuns = () =>
  new Problem(
    'overloaded',
    `At most ${AT_ONCE.total} dry runs are read at the same time, and at most ${AT_ONCE.perOwner} per customer. Send this one again later.`,
    { headers: { 'Retry-After': String(AT_ONCE.patience / SECOND) } },
  );
