import { Command, Option } from 'commander';
import * as v from 'valibot';
import { TransactionView } from '../../movements/body.ts';
import { countOf } from '../../platform/text.ts';
import {
  addListOptions,
  type CreateCommand,
  fieldsOf,
  type ListOptions,
  printList,
  subjectCommand,
} from '../api-command.ts';
import { type AccessOptions, addCallerOptions, withAccess } from '../command-access.ts';
import { type Column, renderFacts } from '../output.ts';
import type { Subject } from '../owner.ts';
import { parseId, parseIds } from '../values.ts';

/** The commands for movements. */

/** A movement as the API shows it. */
const Movement = v.looseObject(TransactionView.entries);

const COLUMNS: readonly Column<v.InferOutput<typeof Movement>>[] = [
  ['id', ({ id }) => id, 'right'],
  ['date', ({ date_issue }) => date_issue],
  ['account', ({ account_id }) => account_id, 'right'],
  ['dc', ({ dc }) => dc],
  ['amount', ({ amount }) => amount, 'right'],
  ['currency', ({ account }) => account.currency],
  ['name', ({ name }) => name],
  ['description', ({ description }) => description],
];

/** Options that say which movements. Their names are those of the API's parameters. */
interface Filters extends AccessOptions {
  account?: string[];
  importId?: string;
}

/** Adds an option for each filter of the API's listing, and for its order. The API checks their values. */
const addFilters = (command: Command): Command =>
  command
    .option(
      '--starts <date>',
      'from this day on; one of --starts, --ends, --after, --unique-id and --import-id is required',
    )
    .option('--ends <date>', 'up to this day')
    .option('--after <moment>', 'stored from then on: "YYYY-MM-DD HH:mm:ss", or a date_readed')
    .option('--account <ids>', 'of these accounts: ids with commas between them; may be repeated', parseIds)
    .addOption(new Option('--dc <direction>', 'in which the money moved').choices(['Debit', 'Credit']))
    .option('--amount <amount>', 'of this amount, such as 1250.50')
    .option('--amount-min <amount>', 'of this amount, or more')
    .option('--amount-max <amount>', 'of this amount, or less')
    .option('--currency <code>', 'of accounts in this currency, such as EUR')
    .option('--q <words>', 'with all these words in the description, the name, the counterparty or the code')
    .option('--opponent-iban <iban>', 'from or to this account of the counterparty')
    .option('--unique-id <unique_id>', 'with this unique_id')
    .option('--import-id <id>', 'that this import has stored', parseId)
    .addOption(
      new Option('--order <order>', 'which come first (default: oldest)').choices(['oldest', 'newest']),
    );

/** The path of the listing, with the options as its parameters. */
function pathOf(options: AccessOptions): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fieldsOf(options))) query.set(name, String(value));
  return `/v1/transactions?${query}`;
}

/** The object whose owner an operator acts for, if the options name one. */
function subjectOf({ account: [account] = [], importId }: Filters): { subject?: Subject } {
  if (account !== undefined) return { subject: { kind: 'account', id: account } };
  return importId === undefined ? {} : { subject: { kind: 'import', id: importId } };
}

/** `ledgerbell movements list` */
const listMovementsCommand: CreateCommand = (context) =>
  addFilters(
    addListOptions(
      new Command('list').description('show the movements that pass all filters, the oldest first'),
    ),
  ).action(({ limit, ...filters }: ListOptions & Filters) =>
    printList(
      context,
      { ...filters, limit },
      {
        path: pathOf(filters),
        name: 'transactions',
        row: Movement,
        columns: COLUMNS,
        mayEndHere: true,
        ...subjectOf(filters),
      },
    ),
  );

interface ExportOptions extends Filters {
  output?: string;
  force?: boolean;
}

/** `ledgerbell movements export` */
const exportMovementsCommand: CreateCommand = (context) =>
  addFilters(
    addCallerOptions(
      new Command('export').description('write the movements that pass all filters as a CSV file'),
    ),
  )
    .option('--columns <names>', 'these columns, in this order: names with commas between them')
    .addOption(
      new Option('--separator <sign>', 'between two cells (default: comma)').choices(['comma', 'semicolon']),
    )
    .addOption(new Option('--decimal <sign>', 'of amounts (default: point)').choices(['point', 'comma']))
    .option('--bom', 'begin with a byte order mark, by which Excel recognises UTF-8')
    .option('--raw', 'leave texts as they are that a spreadsheet would execute')
    .addOption(new Option('--fields <fields>', 'with what the bank says').choices(['extended']))
    .option('--output <file>', 'where to; -: standard output (default: -)')
    .option('--force', 'replace the file if it exists')
    .action(async ({ output: named, force = false, ...filters }: ExportOptions) => {
      const output = named === '-' ? undefined : named;
      const { requireFree, writeCsv } = await import('../csv-export.ts');
      // Checked before anything is connected to or started.
      if (output !== undefined) await requireFree(output, { force });
      const path = `${pathOf(filters)}&format=csv`;
      const rows = await withAccess(context, filters, subjectOf(filters), (api) =>
        writeCsv(context, api.download(path, 'text/csv', context.signal), { output, force }),
      );
      if (output !== undefined)
        context.terminal.answer(false, null, `${countOf(rows, 'movement')} in ${output}.`);
    });

/** `ledgerbell movements` */
export const movements: readonly CreateCommand[] = [
  listMovementsCommand,
  exportMovementsCommand,
  subjectCommand('movement', {
    name: 'show',
    description: 'show a movement',
    request: (api, id) => api.get(`/v1/transactions/${id}`, v.object({ transaction: Movement })),
    text: ({ transaction: it }) =>
      renderFacts([
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
      ]),
  }),
];
