import { append } from './append.ts';
import { type BelievedBalances, createBelievedBalances } from './believed-balances.ts';
import { createJoinedWalks, type JoinedWalks } from './joined-walks.ts';
import { isWalk, type Laid, layOut } from './laid.ts';
import type { Stored, StoredMovement } from './statement.ts';

/** The movements of an account, and the statements that have brought them. The statements of the file are added one by one. */
export interface Books {
  movements: BookedMovement[];
  /** Movements by their day and amount. */
  byGroup: Map<string, number[]>;
  /** Statements by the days of their rows, and by their last day. */
  byDay: Map<string, Set<Laid>>;
  balances: BelievedBalances;
  walks: JoinedWalks;
}

export interface BookedMovement extends Omit<StoredMovement, 'id'> {
  /** The rows that were identified as this movement. */
  seen: { laid: Laid; position: number }[];
}

export const groupOf = ({ day, amount }: { day: string; amount: bigint }): string => `${day} ${amount}`;

export function openBooks({ movements, statements }: Stored): Books {
  const books: Books = {
    movements: [],
    byGroup: new Map(),
    byDay: new Map(),
    balances: createBelievedBalances(),
    walks: createJoinedWalks(),
  };
  for (const movement of movements) addMovement(books, movement);
  for (const statement of statements) {
    const laid = layOut(statement, [...statement.movements], statement.fingerprint);
    books.balances.add(laid);
    addStatement(books, laid);
    books.walks.add(laid);
  }
  for (const { seen } of books.movements) {
    const [first, ...others] = seen.length < 2 ? [] : seen.filter(({ laid }) => isWalk(laid));
    for (const { laid } of others) if (first !== undefined) books.walks.join(laid, first.laid);
  }
  return books;
}

/** @returns the number of the movement. */
export function addMovement(books: Books, movement: Omit<StoredMovement, 'id'>): number {
  const { day, amount, text } = movement;
  append(books.byGroup, groupOf(movement), books.movements.length);
  return books.movements.push({ day, amount, text, seen: [] }) - 1;
}

/** Adds a statement whose rows are all decided. */
export function addStatement({ movements, byDay }: Books, laid: Laid): void {
  for (const [position, movement] of laid.movements.entries())
    movements[movement]?.seen.push({ laid, position });
  for (const day of daysOf(laid)) {
    const statements = byDay.get(day) ?? new Set();
    byDay.set(day, statements.add(laid));
  }
}

/** The statements about the same days, in the order in which they came. */
export const statementsNear = ({ byDay }: Books, laid: Laid): Set<Laid> =>
  new Set(daysOf(laid).flatMap((day) => [...(byDay.get(day) ?? [])]));

const daysOf = ({ days, statement: { to } }: Laid): string[] => [
  ...days.keys(),
  ...(to === null ? [] : [to]),
];
