import { Command, Option } from 'commander';
import * as v from 'valibot';
import { OPERATOR_ROLES, type OperatorRole } from '../../customers/caller.ts';
import { OperatorTokenView } from '../../customers/operator-token-view.ts';
import { confirm, Deleted, printRows } from '../api-command.ts';
import { withOperator } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { formatTime } from '../output.ts';
import { parseId, readMomentUtc } from '../values.ts';

/** The commands for operators: their tokens. */

/** The role is any text, because a newer service may have further roles. */
const Token = v.looseObject({ ...OperatorTokenView.entries, role: v.string() });

const CreatedToken = v.looseObject({ operator_token: v.looseObject({ id: v.number(), token: v.string() }) });

interface CreateOptions {
  title: string;
  role: OperatorRole;
  expires?: string;
  json?: boolean;
}

/** `ledgerbell operators tokens create` */
const createTokenCommand = (context: CommandContext) =>
  new Command('create')
    .description("create an operator's token, which is shown only now")
    .requiredOption('--title <title>', 'whose it is, or what it is for')
    .addOption(
      new Option('--role <role>', 'viewer reads, operator also changes things, admin also manages tokens')
        .choices([...OPERATOR_ROLES])
        .makeOptionMandatory(),
    )
    .option('--expires <moment>', 'when it ends: "YYYY-MM-DD HH:mm:ss", or a date (default: never)')
    .option('--json', 'print { "operator_token": { "id", "token" } }')
    .action(async ({ title, role, expires, json }: CreateOptions) => {
      const { zone } = context.readConfig();
      const expires_at =
        expires === undefined ? null : readMomentUtc('--expires', expires, zone).replace(' ', 'T');
      const answer = await withOperator(context, (api) =>
        api.post('/v1/operator-tokens', { title, role, expires_at }, CreatedToken),
      );
      const { id, token } = answer.operator_token;
      context.terminal.answer(json, answer, `Token ${id} (shown only now)\n  ${token}`);
    });

/** `ledgerbell operators tokens list` */
const listTokensCommand = (context: CommandContext) =>
  new Command('list')
    .description("show operators' tokens, without the tokens themselves")
    .option('--json', 'print { "operator_tokens" } as the API answers')
    .action(async ({ json }: { json?: boolean }) => {
      const { zone } = context.readConfig();
      const [name, all] = ['operator_tokens', Number.POSITIVE_INFINITY];
      const { rows } = await withOperator(context, (api) =>
        api.list('/v1/operator-tokens', name, Token, all, context.signal),
      );
      printRows(
        context,
        { ...(json === undefined ? {} : { json }) },
        {
          name,
          rows,
          columns: [
            ['id', ({ id }) => id, 'right'],
            ['begins with', ({ prefix }) => prefix],
            ['title', ({ title }) => title],
            ['role', ({ role }) => role],
            ['expires', ({ expires_at }) => formatTime(expires_at, zone)],
            ['last used', ({ last_used_at }) => formatTime(last_used_at, zone)],
          ],
        },
      );
    });

/** `ledgerbell operators tokens delete` */
const deleteTokenCommand = (context: CommandContext) =>
  new Command('delete')
    .description("delete an operator's token; requests with it get 401")
    .argument('<id>', 'of the token', parseId)
    .option('--yes', 'do not ask')
    .option('--json', 'print the answer of the API as one JSON document')
    .action(async (id: string, options: { yes?: boolean; json?: boolean }) => {
      const answer = await withOperator(context, async (api) => {
        await confirm(context, options, `Delete token ${id}?`);
        return api.delete(`/v1/operator-tokens/${id}`, Deleted);
      });
      context.terminal.answer(options.json, answer, `Token ${id} is deleted.`);
    });

/** `ledgerbell operators tokens` */
const tokensCommand = (context: CommandContext) => {
  const tokens = new Command('tokens').description("manage operators' tokens for the API");
  for (const create of [createTokenCommand, listTokensCommand, deleteTokenCommand])
    tokens.addCommand(create(context));
  return tokens;
};

/** `ledgerbell operators` */
export const operators = [tokensCommand];
