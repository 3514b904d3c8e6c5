import { Command } from 'commander';
import * as v from 'valibot';
import { TransactionView } from '../../listing/view.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { renderFacts } from '../table-output.ts';
import { parseId } from '../values.ts';

const MovementAnswer = v.object({ transaction: v.looseObject(TransactionView.entries) });

/** `ledgerbell movements show` */
export const showMovementCommand = (context: CommandContext) =>
  addAccessOptions(new Command('show').description('show a movement'))
    .argument('<id>', 'of the movement', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const answer = await withAccess(context, options, { subject: { kind: 'movement', id } }, (api) =>
        api.get(`/v1/transactions/${id}`, MovementAnswer),
      );
      const { transaction: it } = answer;
      const text = renderFacts([
        ['movement', it.id],
        ['account', `${it.account.id}, ${it.account.title} at ${it.account.bank.name}`],
        ['direction', it.dc],
        ['code', it.code],
        ['amount', it.amount],
        ['balance', it.balance],
        ['description', it.description],
        ['name', it.name],
        ['opponent', it.opponent_id],
        ['opponent IBAN', it.opponent_iban],
        ['bank’s day', it.date_issue],
        ['stored', it.date_readed],
        ['unique_id', it.unique_id],
      ]);
      context.terminal.answer(options.json, answer, text);
    });
