import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as v from 'valibot';

const Accounts = v.array(
  v.object({ ref: v.string(), bank: v.string(), title: v.string(), currency: v.string(), iban: v.string() }),
);
const Movement = v.looseObject({ account_id: v.string(), dc: v.string(), date_issue: v.string() });

export type ExampleAccount = v.InferOutput<typeof Accounts>[number];
/** A row of the file, with all its fields. `account_id` is the `ref` of an account of the example. */
export type ExampleMovement = v.InferOutput<typeof Movement>;

export interface Statement {
  accounts: ExampleAccount[];
  movements: ExampleMovement[];
}

/** Reads the bank statement in examples/. */
export async function readStatement(): Promise<Statement> {
  const directory = findExamples(import.meta.dirname);
  const [accounts, rows] = await Promise.all([
    readFile(join(directory, 'accounts.json'), 'utf8'),
    readFile(join(directory, 'movements.ndjson'), 'utf8'),
  ]);
  return {
    accounts: v.parse(Accounts, JSON.parse(accounts)),
    movements: rows
      .trimEnd()
      .split('\n')
      .map((row) => v.parse(Movement, JSON.parse(row))),
  };
}

/** The earliest day of a statement, `YYYY-MM-DD`. */
export const firstDate = ({ movements }: Statement): string =>
  movements.map(({ date_issue }) => date_issue).sort()[0] ?? '';

/** Searches upwards: examples/ is beside src/ and dist/, and this file is deeper in dist/. */
export function findExamples(from: string): string {
  const here = join(from, 'examples');
  if (existsSync(join(here, 'accounts.json'))) return here;
  if (dirname(from) === from) throw new Error('The folder examples is missing from this installation.');
  return findExamples(dirname(from));
}

/** Renders the rows as NDJSON, on accounts that exist. `ids` maps each `ref` to the id of its account. */
export function renderNdjson(
  movements: readonly ExampleMovement[],
  ids: ReadonlyMap<string, string>,
): Buffer {
  const lines = movements.map((movement) =>
    JSON.stringify({ ...movement, account_id: ids.get(movement.account_id) ?? movement.account_id }),
  );
  return Buffer.from(`${lines.join('\n')}\n`);
}
