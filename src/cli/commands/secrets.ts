import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import { byOperator, recordChange } from '../../customers/audit.ts';
import type { Sql } from '../../database/transaction.ts';
import { countOf } from '../../platform/text.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { withInstallation } from '../open-service.ts';
import { currentOperator } from '../operator.ts';
import { countForeign, type Resealed, resealAll } from '../reseal.ts';

/** The most values that are named if they cannot be opened. */
const NAMED = 10;

/** `ledgerbell secrets reseal` */
const resealSecretsCommand = (context: CommandContext) =>
  new Command('reseal')
    .description(
      'seal all stored secrets with SECRET_KEY, so that SECRET_KEY_PREVIOUS is not needed any more',
    )
    .option('--json', 'print { "resealed", "remaining", "unreadable": [column and row] }')
    .action(({ json }: { json?: boolean }) =>
      withInstallation(context, async ({ database, secrets }) => {
        const bar = progressBar();
        bar.start(await countForeign(database, secrets), 0);
        const result = await resealAll(database, secrets, (values) => bar.increment(values)).finally(() =>
          bar.stop(),
        );
        if (result.resealed > 0) await record(database, result.resealed);
        const answer = { ...result, unreadable: result.unreadable.slice(0, NAMED) };
        context.terminal.answer(json, answer, describe(result));
        const reason = reasonToFail(result);
        if (reason !== null) throw new Failure(reason);
      }),
    );

/** Records the change after the last transaction, because the values are written in many transactions. */
const record = (database: Sql, values: number) =>
  recordChange(database, byOperator(currentOperator(), null), {
    action: 'reseal',
    subject: 'secrets',
    detail: countOf(values, 'value'),
  });

const describe = ({ resealed, remaining }: Resealed): string =>
  `${countOf(resealed, 'secret was', 'secrets were')} sealed with SECRET_KEY. ${countOf(remaining, 'remains', 'remain')} with another key.`;

function reasonToFail({ remaining, unreadable }: Resealed): string | null {
  if (remaining === 0) return null;
  if (unreadable.length === 0)
    return 'A process still seals with another key: start all processes with this SECRET_KEY, and repeat the command.';
  const named = unreadable.slice(0, NAMED).join(', ');
  return `${countOf(unreadable.length, 'secret')} cannot be opened with SECRET_KEY or SECRET_KEY_PREVIOUS: ${named}${unreadable.length > NAMED ? ' …' : ''}.`;
}

/** Drawn on standard error, but only on a terminal. */
const progressBar = () =>
  new SingleBar({
    format: 'Resealing {bar} {percentage}%  {value} of {total} secrets',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 32,
    hideCursor: true,
    stream: process.stderr,
  });

/** `ledgerbell secrets` */
export const secrets = [resealSecretsCommand];
