import { Command, Option } from 'commander';
import * as v from 'valibot';
import { AccountChange, AccountView, BankView, NewAccount } from '../../customers/account-view.ts';
import { type CreateCommand, fieldsOf, listCommand, printAnswer, subjectCommand } from '../api-command.ts';
import { type AccessOptions, addAccessOptions } from '../command-access.ts';
import { type CommandContext, Failure } from '../context.ts';
import { parseId, readOptions } from '../values.ts';

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
        'change the title, the IBAN, the number or the settings of an account',
      ),
      'print { "account": { "id", … } }',
    )
      .argument('<id>', 'of the account', parseId)
      .option('--title <title>', 'the title of the account'),
  ).action(async (id: string, options: SettingsOptions) => {
    const given = readSettings(options);
    if (Object.keys(given).length === 0)
      throw new Failure(
        'Say what to change: --title, --iban, --number, --on-conflict, --check-balances or --late-after-days.',
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
  subjectCommand('account', {
    name: 'delete',
    description: 'delete an account with its movements and webhooks',
    wakes: true,
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
