import { Command, Option } from 'commander';
import * as v from 'valibot';
import { AccountChange, AccountView, BankView, NewAccount } from '../../customers/account-view.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { addListOptions, confirm, type ListOptions, printList } from '../output.ts';
import { parseId, readOptions } from '../values.ts';

/** An account as the API shows it. */
const Account = v.looseObject(AccountView.entries);

export const AccountAnswer = v.object({ account: Account });

/** `Account 7: Ana Hesap at Garanti BBVA, TRY` */
export const describeAccount = ({ id, title, bank, currency }: v.InferOutput<typeof Account>): string =>
  `Account ${id}: ${title} at ${bank.name}, ${currency}`;

interface SettingsOptions {
  iban?: string;
  number?: string;
  onConflict?: string;
  checkBalances?: string;
  statementNumbers?: 'use' | 'ignore';
  lateAfterDays?: string;
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
    .option('--late-after-days <days>', 'when the next statement is late; "": learnt from those that came');

/** The given settings, with the API's names. */
const readSettings = ({
  iban,
  number,
  onConflict,
  checkBalances,
  lateAfterDays,
  statementNumbers,
}: SettingsOptions) => ({
  ...(iban === undefined ? {} : { iban: iban || null }),
  ...(number === undefined ? {} : { number: number || null }),
  ...(onConflict === undefined ? {} : { on_conflict: onConflict }),
  ...(statementNumbers === undefined ? {} : { statement_numbers: statementNumbers }),
  ...(checkBalances === undefined ? {} : { check_balances: checkBalances === 'true' }),
  ...(lateAfterDays === undefined
    ? {}
    : { late_after_days: lateAfterDays === '' ? null : Number(lateAfterDays) }),
});

interface CreateOptions extends AccessOptions, SettingsOptions {
  bank: string;
  title: string;
  currency: string;
}

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
  ).action(async (options: CreateOptions) => {
    const { bank, title, currency } = options;
    // Checked before anything is connected to or started.
    const body = readOptions(NewAccount, { bank, title, currency, ...readSettings(options) });
    const answer = await withAccess(context, options, {}, (api) =>
      api.post('/v1/accounts', body, AccountAnswer),
    );
    context.terminal.answer(options.json, answer, describeAccount(answer.account));
  });

interface ChangeOptions extends AccessOptions, SettingsOptions {
  title?: string;
}

/** `ledgerbell accounts change` */
const changeAccountCommand = (context: CommandContext) =>
  addSettings(
    addAccessOptions(
      new Command('change').description(
        'change the title, the IBAN, the number or the settings of an account',
      ),
      'print { "account": { "id", … } }',
    )
      .argument('<id>', 'of the account', parseId)
      .option('--title <title>', 'the title of the account'),
  ).action(async (id: string, options: ChangeOptions) => {
    const { title } = options;
    const given = { ...(title === undefined ? {} : { title }), ...readSettings(options) };
    if (Object.keys(given).length === 0)
      throw new Failure(
        'Say what to change: --title, --iban, --number, --on-conflict, --check-balances or --late-after-days.',
      );
    // Checked before anything is connected to or started.
    const change = readOptions(AccountChange, given);
    const answer = await withAccess(context, options, { subject: { kind: 'account', id } }, (api) =>
      api.patch(`/v1/accounts/${id}`, change, AccountAnswer),
    );
    const { iban: newIban, number: newNumber } = answer.account;
    const names = [newIban && `IBAN ${newIban}`, newNumber && `number ${newNumber}`].filter(Boolean);
    context.terminal.answer(options.json, answer, [describeAccount(answer.account), ...names].join(', '));
  });

/** `ledgerbell accounts list` */
const listAccountsCommand = (context: CommandContext) =>
  addListOptions(new Command('list').description('show accounts, the oldest first')).action(
    (options: ListOptions) =>
      printList(context, options, {
        path: '/v1/accounts',
        name: 'accounts',
        row: v.looseObject(AccountView.entries),
        columns: [
          ['id', ({ id }) => id, 'right'],
          ['bank', ({ bank }) => bank.name],
          ['title', ({ title }) => title],
          ['iban', ({ iban }) => iban],
          ['balance', ({ balance }) => balance, 'right'],
          ['currency', ({ currency }) => currency],
          ['status', ({ status }) => status],
        ],
      }),
  );

const AccountList = v.looseObject({ accounts: v.array(v.looseObject(AccountView.entries)) });
const Deleting = v.looseObject({ account: v.looseObject(AccountView.entries) });

/** `ledgerbell accounts delete` */
const deleteAccountCommand = (context: CommandContext) =>
  addAccessOptions(new Command('delete').description('delete an account with its movements and webhooks'))
    .argument('<id>', 'of the account', parseId)
    .option('--yes', 'do not ask')
    .action(async (id: string, options: AccessOptions & { yes?: boolean }) => {
      const subject = { kind: 'account', id } as const;
      const path = `/v1/accounts/${id}`;
      const answer = await withAccess(context, options, { subject, wakes: true }, async (api) => {
        const { accounts } = await api.get(path, AccountList);
        const question = `Delete account ${id}, ${accounts[0]?.title ?? ''}, with all of its movements and its webhooks?`;
        await confirm(context, options, question);
        return api.delete(path, Deleting);
      });
      const lines = [
        `Account ${id} is being deleted. From now on, nothing of it is stored or sent.`,
        `See how far it is with: ledgerbell status`,
      ];
      context.terminal.answer(options.json, answer, lines.join('\n'));
    });

/** `ledgerbell banks list` */
const listBanksCommand = (context: CommandContext) =>
  addListOptions(new Command('list').description('show the banks of accounts')).action(
    (options: ListOptions) =>
      printList(context, options, {
        path: '/v1/banks',
        name: 'banks',
        row: v.looseObject(BankView.entries),
        columns: [
          ['id', ({ id }) => id, 'right'],
          ['name', ({ name }) => name],
        ],
      }),
  );

/** `ledgerbell accounts` */
export const accounts = [
  createAccountCommand,
  changeAccountCommand,
  listAccountsCommand,
  deleteAccountCommand,
];

/** `ledgerbell banks` */
export const banks = [listBanksCommand];
