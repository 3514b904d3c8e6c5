import { Command, Option } from 'commander';
import * as v from 'valibot';
import { BalanceView, CompletenessView, StatementView } from '../../books/books-view.ts';
import { AccountChange, AccountView, BankView, NewAccount } from '../../customers/account-view.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { formatCount } from '../../platform/text.ts';
import {
  addListOptions,
  type CreateCommand,
  fieldsOf,
  type ListOptions,
  listCommand,
  printAnswer,
  printList,
  subjectCommand,
} from '../api-command.ts';
import { type AccessOptions, addAccessOptions } from '../command-access.ts';
import { type CommandContext, Failure, NegativeAnswer } from '../context.ts';
import { type Column, formatTime, renderColumns } from '../output.ts';
import { parseId, readOptions } from '../values.ts';

/** The commands for accounts. */

/** An account as the API shows it. */
const Account = v.looseObject(AccountView.entries);

export const AccountAnswer = v.object({ account: Account });

/** `Account 7: Ana Hesap at Garanti BBVA, TRY` */
export const describeAccount = ({ id, title, bank, currency }: v.InferOutput<typeof Account>): string =>
  `Account ${id}: ${title} at ${bank.name}, ${currency}`;

interface SettingsOptions extends AccessOptions {
  checkBalances?: 'true' | 'false';
}

/** Adds the options that `create` and `change` share. */
const addSettings = (command: Command): Command =>
  command
    .option('--iban <iban>', 'with or without spaces; "": none')
    .option('--number <number>', 'as the bank writes it, for statements without an IBAN; "": none')
    .addOption(
      new Option(
        '--on-conflict <what>',
        'what happens to a row with the id of a stored movement and another content',
      ).choices(['hold', 'store']),
    )
    .addOption(
      new Option(
        '--check-balances <whether>',
        'warn where the balance of a JSON row does not follow from the row before',
      ).choices(['true', 'false']),
    )
    .addOption(
      new Option(
        '--statement-numbers <what>',
        'whether numbers tell apart statements of a day that return to their opening balance',
      ).choices(['use', 'ignore']),
    )
    .option(
      '--late-after-days <days>',
      'when the next statement is late; "": learnt from those that came',
      (days) => (days === '' ? '' : Number(days)),
    );

const REMOVABLE = ['iban', 'number', 'late_after_days'];

/** The given settings, with the API's names. "" removes an IBAN, a number or a rule. */
const readSettings = ({ checkBalances, ...options }: SettingsOptions) => ({
  ...Object.fromEntries(
    Object.entries(fieldsOf(options)).map(([name, value]) => [
      name,
      value === '' && REMOVABLE.includes(name) ? null : value,
    ]),
  ),
  ...(checkBalances === undefined ? {} : { check_balances: checkBalances === 'true' }),
});

/** `ledgerbell accounts create` */
const createAccountCommand = (context: CommandContext) =>
  addSettings(
    addAccessOptions(
      new Command('create').description('add an account to a customer'),
      'print { "account": { "id", … } }',
    )
      .requiredOption('--bank <name>', "the bank; a new name is added to the customer's banks")
      .requiredOption('--title <title>', 'the title of the account')
      .requiredOption('--currency <code>', 'ISO 4217, such as TRY'),
  ).action(async (options: SettingsOptions) => {
    // Checked before anything is connected to or started.
    const body = readOptions(NewAccount, readSettings(options));
    await printAnswer(
      context,
      options,
      {},
      {
        request: (api) => api.post('/v1/accounts', body, AccountAnswer),
        text: ({ account }) => describeAccount(account),
      },
    );
  });

/** `ledgerbell accounts change` */
const changeAccountCommand = (context: CommandContext) =>
  addSettings(
    addAccessOptions(
      new Command('change').description(
        'change the bank, the title, the IBAN, the number or the settings of an account',
      ),
      'print { "account": { "id", … } }',
    )
      .argument('<id>', 'of the account', parseId)
      .option('--bank <name>', 'the name of its bank')
      .option('--title <title>', 'the title of the account'),
  ).action(async (id: string, options: SettingsOptions) => {
    const given = readSettings(options);
    if (Object.keys(given).length === 0)
      throw new Failure(
        'Say what to change: --bank, --title, --iban, --number, --on-conflict, --check-balances or --late-after-days.',
      );
    // Checked before anything is connected to or started.
    const change = readOptions(AccountChange, given);
    await printAnswer(
      context,
      options,
      { subject: { kind: 'account', id } },
      {
        request: (api) => api.patch(`/v1/accounts/${id}`, change, AccountAnswer),
        text: ({ account }) =>
          [
            describeAccount(account),
            ...(account.iban ? [`IBAN ${account.iban}`] : []),
            ...(account.number ? [`number ${account.number}`] : []),
          ].join(', '),
      },
    );
  });

/** Creates a command that lists what belongs to an account. */
const ofAccountCommand =
  <S extends v.GenericSchema>({
    name,
    description,
    row,
    columns,
  }: {
    name: 'statements' | 'balances';
    description: string;
    row: S;
    columns: (zone: ZoneOffset) => readonly Column<v.InferOutput<S>>[];
  }): CreateCommand =>
  (context) =>
    addListOptions(new Command(name).description(description))
      .argument('<id>', 'of the account', parseId)
      .action((id: string, options: ListOptions) =>
        printList(context, options, {
          path: `/v1/accounts/${id}/${name}`,
          name,
          row,
          columns: columns(context.readConfig().zone),
          subject: { kind: 'account', id },
        }),
      );

/** `ledgerbell accounts` */
export const accounts: readonly CreateCommand[] = [
  createAccountCommand,
  changeAccountCommand,
  listCommand({
    description: 'show accounts, the oldest first',
    path: '/v1/accounts',
    name: 'accounts',
    row: Account,
    columns: () => [
      ['id', ({ id }) => id, 'right'],
      ['bank', ({ bank }) => bank.name],
      ['title', ({ title }) => title],
      ['iban', ({ iban }) => iban],
      ['balance', ({ balance }) => balance, 'right'],
      ['currency', ({ currency }) => currency],
      ['status', ({ status }) => status],
    ],
  }),
  ofAccountCommand({
    name: 'statements',
    description: 'show the statements that files have brought, the last received first',
    row: StatementView,
    columns: (zone) => [
      ['id', ({ id }) => id, 'right'],
      ['number', ({ number, sequence }) => [number, sequence].filter(Boolean).join('/')],
      ['from', ({ from }) => from],
      ['to', ({ to }) => to],
      ['opening', ({ opening_balance }) => opening_balance, 'right'],
      ['closing', ({ closing_balance }) => closing_balance, 'right'],
      ['currency', ({ currency }) => currency],
      ['entries', ({ entries }) => formatCount(entries), 'right'],
      ['kind', ({ kind }) => kind],
      ['received', ({ received_at }) => formatTime(received_at, zone)],
    ],
  }),
  ofAccountCommand({
    name: 'balances',
    description: 'show the balance at the end of each day, the last day first',
    row: BalanceView,
    columns: () => [
      ['day', ({ date }) => date],
      ['balance', ({ balance }) => balance, 'right'],
      ['currency', ({ currency }) => currency],
      ['from', ({ source, statement_id, transaction_id }) => `${source} ${statement_id ?? transaction_id}`],
    ],
  }),
  subjectCommand('account', {
    name: 'completeness',
    description:
      'show whether the statements are complete, and what is missing between them; the exit code is 1 if they contradict each other',
    request: (api, id) =>
      api.get(`/v1/accounts/${id}/completeness`, v.object({ completeness: CompletenessView })),
    judge({ completeness: { status } }) {
      if (status === 'contradictory') throw new NegativeAnswer();
    },
    text: ({ completeness: { status, periods } }) =>
      [
        status === 'unknown' ? 'unknown: there is no final statement with both balances.' : status,
        ...(periods.length === 0
          ? []
          : [
              renderColumns(
                [
                  ['from', ({ from }) => from],
                  ['to', ({ to }) => to],
                  ['status', (it) => it.status],
                  ['before', (it) => it.opening_balance, 'right'],
                  ['after', (it) => it.closing_balance, 'right'],
                  ['difference', (it) => (it.status === 'complete' ? null : it.difference), 'right'],
                  ['missing', ({ missing }) => missing.length || null, 'right'],
                  ['too much', ({ surplus }) => surplus.length || null, 'right'],
                ],
                periods,
              ),
            ]),
      ].join('\n\n'),
  }),
  subjectCommand('account', {
    name: 'delete',
    description: 'delete an account with its movements and webhooks',
    async question(api, id) {
      const { accounts } = await api.get(`/v1/accounts/${id}`, v.looseObject({ accounts: v.array(Account) }));
      return `Delete account ${id}, ${accounts[0]?.title ?? ''}, with all of its movements and its webhooks?`;
    },
    request: (api, id) => api.delete(`/v1/accounts/${id}`, v.looseObject({ account: Account })),
    text: (_, id) =>
      [
        `Account ${id} is being deleted. From now on, nothing of it is stored or sent.`,
        `See how far it is with: ledgerbell status`,
      ].join('\n'),
  }),
];

/** `ledgerbell banks` */
export const banks: readonly CreateCommand[] = [
  listCommand({
    description: 'show the banks of accounts',
    path: '/v1/banks',
    name: 'banks',
    row: v.looseObject(BankView.entries),
    columns: () => [
      ['id', ({ id }) => id, 'right'],
      ['name', ({ name }) => name],
    ],
  }),
];
