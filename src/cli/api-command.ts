import { Command } from 'commander';
import * as v from 'valibot';
import type { ZoneOffset } from '../platform/moment.ts';
import { formatCount } from '../platform/text.ts';
import type { Api } from './api-client.ts';
import { type AccessOptions, addAccessOptions, withAccess } from './command-access.ts';
import { type CommandContext, Failure, oneLine } from './context.ts';
import { type Column, renderColumns } from './output.ts';
import { type Subject, wordsOf } from './owner.ts';
import { parseDeliveryKey, parseId, parseNumber } from './values.ts';

/** What the commands that call the API have in common: options, answers and lists. */

/** Creates a command of a group. */
export type CreateCommand = (context: CommandContext) => Command;

/** The API's answer to DELETE. */
export const Deleted = v.looseObject({ status: v.string() });

/**
 * Sends a command's requests to the API, and prints the answer: with --json as it is, otherwise as `text` describes it.
 * @param about as in `withAccess`.
 * @returns the answer.
 */
export async function printAnswer<T>(
  context: CommandContext,
  options: AccessOptions,
  about: Parameters<typeof withAccess>[2],
  { request, text }: { request: (api: Api) => Promise<T>; text: (answer: T, zone: ZoneOffset) => string },
): Promise<T> {
  const answer = await withAccess(context, options, about, request);
  context.terminal.answer(options.json, answer, text(answer, context.readConfig().zone));
  return answer;
}

const ACCESS_OPTIONS = ['customer', 'key', 'url', 'json'];

/** The other options that are given, with the API's names: `--max-in-flight` is `max_in_flight`. */
export const fieldsOf = (options: AccessOptions): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(options)
      .filter(([name, value]) => !ACCESS_OPTIONS.includes(name) && value !== undefined)
      .map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
  );

interface SubjectCommand<T> {
  name: string;
  description: string;
  /** The question before an action that cannot be undone. With it, the command has the option --yes. */
  question?: (api: Api, id: string) => string | Promise<string>;
  request: (api: Api, id: string) => Promise<T>;
  text: (answer: T, id: string, zone: ZoneOffset) => string;
  /** Called after the answer was printed. */
  judge?: (answer: T) => void;
}

/** Creates a command about one object, whose id is the command's argument. */
export const subjectCommand =
  <T>(
    kind: Subject['kind'],
    { name, description, question, request, text, judge }: SubjectCommand<T>,
  ): CreateCommand =>
  (context) => {
    const command = addAccessOptions(new Command(name).description(description));
    if (kind === 'delivery')
      command.argument('<id>', 'of the delivery: <webhook id>-<movement id>', parseDeliveryKey);
    else command.argument('<id>', `of the ${wordsOf(kind)}`, parseId);
    if (question !== undefined) command.option('--yes', 'do not ask');
    return command.action(async (id: string, options: AccessOptions & { yes?: boolean }) => {
      const [subjectId = id] = id.split('-');
      const answer = await printAnswer(
        context,
        options,
        { subject: { kind, id: subjectId } },
        {
          async request(api) {
            if (question !== undefined) await confirm(context, options, await question(api, id));
            return request(api, id);
          },
          text: (it, zone) => text(it, id, zone),
        },
      );
      judge?.(answer);
    });
  };

/** Creates the command `list` of a group. */
export const listCommand =
  <S extends v.GenericSchema>({
    description,
    columns,
    ...list
  }: Omit<List<S>, 'subject' | 'columns'> & {
    description: string;
    columns: (zone: ZoneOffset) => readonly Column<v.InferOutput<S>>[];
  }): CreateCommand =>
  (context) =>
    addListOptions(new Command('list').description(description)).action((options: ListOptions) =>
      printList(context, options, { ...list, columns: columns(context.readConfig().zone) }),
    );

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100_000;

export interface ListOptions extends AccessOptions {
  limit: number;
}

/** Adds the options of every command that lists something. */
export const addListOptions = (command: Command) =>
  addAccessOptions(command).option('--limit <number>', 'how many at most', parseLimit, DEFAULT_LIMIT);

const parseLimit = (text: string): number => parseNumber(text, 1, MAX_LIMIT);

interface List<S extends v.GenericSchema> {
  path: string;
  /** The name of the member of the API's answer that has the rows. */
  name: string;
  row: S;
  columns: readonly Column<v.InferOutput<S>>[];
  subject?: Subject;
  /** Whether an operator who names no customer gets the rows of all customers. */
  ofAll?: boolean;
  /** Whether a header Link may lead to pages without rows. */
  mayEndHere?: boolean;
}

/** Prints a list of the API: as a table, or as one document with --json. */
export async function printList<S extends v.GenericSchema>(
  context: CommandContext,
  options: ListOptions,
  { path, name, row, columns, subject, ofAll = false, mayEndHere = false }: List<S>,
): Promise<void> {
  const isOperator =
    options.customer === undefined &&
    options.key === undefined &&
    options.url === undefined &&
    context.readClientConfig().apiKey === undefined;
  if (ofAll && isOperator) {
    const rows = await listOfAll(context, { path, name, row, limit: options.limit });
    const columnsOfAll: readonly Column<(typeof rows)[number]>[] = [
      ...columns.slice(0, 1),
      ['customer', (it) => it.customer],
      ...columns.slice(1),
    ];
    printRows(context, options, { name, rows, columns: columnsOfAll });
    return;
  }
  const { rows, more } = await withAccess(context, options, subject === undefined ? {} : { subject }, (api) =>
    api.list(path, name, row, options.limit, context.signal),
  );
  printRows(context, options, { name, rows, columns });
  if (more)
    context.terminal.note(
      `${mayEndHere ? 'There may be' : 'There are'} more than ${formatCount(options.limit)}: say how many with --limit.`,
    );
}

/** Lists the rows of each customer, the oldest customer first. @param limit of the rows of a customer. */
async function listOfAll<S extends v.GenericSchema>(
  context: CommandContext,
  { path, name, row, limit }: Pick<List<S>, 'path' | 'name' | 'row'> & { limit: number },
): Promise<(v.InferOutput<S> & { customer: string })[]> {
  const { createOperatorApi, findOperatorAccess } = await import('./operator-client.ts');
  const access = findOperatorAccess(context);
  const { signal } = context;
  const found: (v.InferOutput<S> & { customer: string })[] = [];
  const all = createOperatorApi(access);
  const customers = await all.list('/v1/customers', 'customers', CustomerName, ALL, signal);
  for (const { id, name: customer } of customers.rows) {
    const { rows } = await createOperatorApi(access, String(id)).list(path, name, row, limit, signal);
    for (const it of rows) found.push(Object.assign({}, it, { customer }));
  }
  return found;
}

const ALL = Number.POSITIVE_INFINITY;
const CustomerName = v.looseObject({ id: v.number(), name: v.string() });

/** Prints rows as a table, or as one document with --json. */
export function printRows<Row>(
  { terminal }: CommandContext,
  { json }: { json?: boolean },
  { name, rows, columns }: { name: string; rows: readonly Row[]; columns: readonly Column<Row>[] },
): void {
  terminal.answer(json, { [name]: rows }, rows.length === 0 ? 'None.' : renderColumns(columns, rows));
}

/**
 * Asks for confirmation before an irreversible action. Does not ask with --yes, or if standard input is not a terminal.
 * @throws {Failure} unless the answer is yes.
 */
export async function confirm(
  { ask }: CommandContext,
  { yes = false }: { yes?: boolean },
  question: string,
): Promise<void> {
  if (yes || ask === undefined) return;
  if (!(await ask(oneLine(question)))) throw new Failure('Nothing was done.');
}
