import type { DataSource } from 'typeorm';
import type * as v from 'valibot';
import type { Caller } from '../customers/caller.ts';
import { Problem } from '../platform/problems/problem.ts';
import type { StatementFormats } from '../statements/formats.ts';
import { ADVICE } from '../statements/unreadable.ts';
import { createByteBudget } from './byte-budget.ts';
import { runDry } from './dry-run.ts';
import { type DryRunView, readDryAccounts, viewDryRun } from './dry-run-view.ts';
import { createAccountFinder } from './find-account.ts';
import { cutIntoParts } from './parts.ts';
import { readStatementFile } from './read-file.ts';
import { FORMATS, isFormatName } from './rows.ts';
import type { Upload } from './stage.ts';

const SECOND = 1_000;

/** How long a process works on one dry run. Waiting for the body does not count. */
const WORK_LIMIT = 60 * SECOND;

/** Dry runs at once: they take the time of the process that answers all requests. One that waits for longer is refused. */
const AT_ONCE = { total: 4, perOwner: 1, patience: 5 * SECOND };

/** The file to read, and how. */
export type DryUpload = Pick<Upload, 'format' | 'statement' | 'unidentified' | 'body'>;

/** Creates a function that answers dry runs: it reads the body as an import does, and stores nothing. */
export function createDryRuns(database: DataSource, formats: StatementFormats) {
  // It counts dry runs here, not bytes.
  const turns = createByteBudget(AT_ONCE);

  /** @throws {Problem} 413 when reading takes too long, 503 when there are too many dry runs. */
  return async function answerDryRun(
    caller: Caller,
    { format, statement, unidentified = 'known', body }: DryUpload,
  ): Promise<v.InferOutput<typeof DryRunView>> {
    const release = await turns.reserve(caller.customerId, 1);
    if (release === null) throw tooManyDryRuns();
    try {
      const accounts = await readDryAccounts(database, caller);
      const { customerId } = caller;
      const parts = cutIntoParts(limitWork(body));
      const readRows = () => {
        if (isFormatName(format)) return FORMATS[format](parts);
        const findAccount = createAccountFinder({
          customerId,
          accountId: statement?.accountId ?? null,
          createAccounts: statement?.createAccounts ?? false,
          accounts: accounts.all(),
          addAccount: accounts.add,
        });
        return readStatementFile(parts, {
          formats,
          format,
          profile: statement?.profile ?? null,
          findAccount,
        });
      };
      const known = isFormatName(format) ? accounts.byId() : null;
      const run = await runDry(database, readRows(), {
        customerId,
        accounts: known,
        removedTime: accounts.removedTime,
        unidentified,
        policyOf: (id) => accounts.find(id)?.on_conflict ?? 'hold',
      });
      return viewDryRun(run, format, accounts.find);
    } finally {
      release();
    }
  };
}

/**
 * Passes bytes on, and measures how long their reader works on them.
 * @param now milliseconds.
 * @throws {Problem} 413 after a minute.
 */
export async function* limitWork(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  now: () => number = () => performance.now(),
): AsyncGenerator<Uint8Array> {
  let worked = 0;
  for await (const part of bytes) {
    const began = now();
    yield part;
    worked += now() - began;
    if (worked > WORK_LIMIT) {
      throw new Problem(
        'too-large',
        `A dry run may take ${WORK_LIMIT / SECOND} s, and this file takes longer. Nothing was stored. ${ADVICE.notDry}, or try a part of it.`,
      );
    }
  }
}

const tooManyDryRuns = () =>
  new Problem(
    'overloaded',
    `${AT_ONCE.total} dry runs can be read at once, ${AT_ONCE.perOwner} of them yours. Send this one again later.`,
    { headers: { 'Retry-After': String(AT_ONCE.patience / SECOND) } },
  );
