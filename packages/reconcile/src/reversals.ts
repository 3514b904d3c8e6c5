import { formatAmount } from '../../statements/src/amounts.ts';
import { once } from './comparison/lazy.ts';
import type { ReceivedStatement, StatementRow, Stored } from './statement.ts';

/**
 * Finds reversals that are stored in the other direction. Where both balances of a statement prove which direction a reversal has, it is
 * stored so. The same reversal in a file without balances, which came before or comes later, may say the opposite.
 */

/** Day, amount, and the id or the text by which a reversal is the same in two files. */
const keysOf = ({ day, reference, text }: StatementRow, amount: bigint): string[] => [
  ...(reference === null ? [] : [`${day} ${amount} ${reference}`]),
  ...(text === '' ? [] : [`${day} ${amount} text ${text}`]),
];

interface TurnedStatement<T> {
  statement: T;
  /** What somebody should look at. */
  warnings: string[];
}

/**
 * Creates a function that turns the reversals of a statement that are stored in the other direction only. It returns the statement with
 * turned rows, and a warning for each that its balances prove: the stored movement is wrong.
 */
export function createReversals({ statements }: Stored, currency: string | null) {
  const found = once(() =>
    statements
      .flatMap(({ rows, movements }) => rows.map((row, at) => ({ row, movement: movements[at] as number })))
      .filter(({ row }) => row.isReversal)
      .map(({ row, movement }) => ({ movement, keys: keysOf(row, row.amount) })),
  );
  return <T extends ReceivedStatement>(statement: T): TurnedStatement<T> =>
    statement.rows.some(({ isReversal }) => isReversal)
      ? turnReversals(statement, found(), currency)
      : { statement, warnings: [] };
}

function turnReversals<T extends ReceivedStatement>(
  statement: T,
  stored: readonly { movement: number; keys: string[] }[],
  currency: string | null,
): TurnedStatement<T> {
  const taken = new Set<number>();
  const find = (row: StatementRow, amount: bigint) => {
    const keys = keysOf(row, amount);
    return stored.find((it) => !taken.has(it.movement) && it.keys.some((key) => keys.includes(key)));
  };
  const isProven = statement.opening !== null && statement.closing !== null;
  const warnings: string[] = [];
  const rows = statement.rows.map((row): StatementRow => {
    if (!row.isReversal) return row;
    const asItIs = find(row, row.amount);
    const other = asItIs === undefined ? find(row, -row.amount) : undefined;
    const { movement } = asItIs ?? other ?? {};
    if (movement !== undefined) taken.add(movement);
    if (other === undefined) return row;
    if (isProven) warnings.push(describe(row, currency));
    return { ...row, amount: -row.amount };
  });
  return { statement: { ...statement, rows }, warnings };
}

const describe = ({ day, amount }: StatementRow, currency: string | null): string =>
  `The reversal of ${day} is stored as ${formatAmount(-amount, currency)}. By the balances of this statement, the amount is ${formatAmount(amount, currency)}. A stored movement never changes: book the difference by hand.`;
