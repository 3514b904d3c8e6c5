import { Argument, Command } from 'commander';
import * as v from 'valibot';
import { ConflictView } from '../../intake/conflict-view.ts';
import { type CreateCommand, listCommand, printAnswer } from '../api-command.ts';
import { type AccessOptions, addAccessOptions } from '../command-access.ts';
import { parseId } from '../values.ts';

const Conflict = v.looseObject(ConflictView.entries);
const ConflictAnswer = v.object({ conflict: Conflict });

type Content = Pick<v.InferOutput<typeof Conflict>['received'], 'date_issue' | 'dc' | 'amount'>;

const describe = ({ date_issue, dc, amount }: Content): string =>
  `${date_issue} ${dc === 'Debit' ? '-' : '+'}${amount}`;

/** `ledgerbell conflicts` */
export const conflicts: readonly CreateCommand[] = [
  listCommand({
    description: 'show rows with the id of a stored movement and another content',
    path: '/v1/conflicts',
    name: 'conflicts',
    row: Conflict,
    columns: () => [
      ['id', ({ id }) => id, 'right'],
      ['status', ({ status }) => status],
      ['account', ({ account_id }) => account_id, 'right'],
      ['unique_id', ({ unique_id }) => unique_id],
      ['stored', ({ stored }) => describe(stored)],
      ['received', ({ received }) => describe(received)],
      ['import', ({ import_id }) => import_id, 'right'],
      ['line', ({ line }) => line, 'right'],
    ],
  }),
  (context) =>
    addAccessOptions(
      new Command('decide').description('store the received row as a movement of its own, or ignore it'),
    )
      .argument('<id>', 'of the conflict', parseId)
      .addArgument(new Argument('<decision>', 'what to do').choices(['store', 'ignore']))
      .action(async (id: string, decision: string, options: AccessOptions) => {
        await printAnswer(
          context,
          options,
          { subject: { kind: 'conflict', id } },
          {
            request: (api) => api.post(`/v1/conflicts/${id}`, { decision }, ConflictAnswer),
            text: ({ conflict: { transaction_id, stored } }) =>
              transaction_id === null
                ? `Conflict ${id} is ignored. Movement ${stored.id} stays as it is.`
                : `Conflict ${id} is stored as movement ${transaction_id}, and goes to the webhooks that match it.`,
          },
        );
      }),
];
