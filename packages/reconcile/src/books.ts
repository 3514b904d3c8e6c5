import { addDays } from '../../statements/src/values.ts';
import { countEach } from './comparison/counts.ts';
import { type Details, findBatches } from './comparison/details.ts';
import { createIndex, once } from './comparison/lazy.ts';
import { addToChain, areLinked, type Chain, createReachable, findRows, haveSameRows } from './relation.ts';
import type { Batch, Candidate, ReceivedStatement, StatementRow, Stored } from './statement.ts';
import {
  append,
  areIssues,
  balanceBefore,
  daysKey,
  hasWalk,
  idOf,
  isFinal,
  isId,
  type Laid,
  layOut,
  rowAt,
  rowKey,
} from './walk.ts';

/** The movements of an account and the statements that have brought them. The statements of the file are added one by one. */
export interface Books {
  movements: BookedMovement[];
  statements: readonly Laid[];
  /** The movements of a day and amount. */
  ofGroup(group: string): readonly number[];
  /**
   * The movements that rows on a walk may be matched with, by day and amount: those that a statement has without a place on its walk, and those
   * with the reference or the balance of a row.
   */
  candidatesOf(rows: readonly StatementRow[], mayBe: (movement: number) => boolean): Set<number>;
  /** Rows of statements with the same day and amount, and the same reference or balance. */
  equalTo(row: StatementRow, by: 'reference' | 'balance'): readonly { row: StatementRow }[];
  /** Rows of statements with the same amount and the same balance, up to three days before or after a day. At most 16 of each day. */
  withBalance(row: StatementRow): { movement: number; laid: Laid }[];
  /** Rows of statements with the bank's id of a row and its direction, up to three days before or after its day. At most 16. */
  named(row: StatementRow): { movement: number; laid: Laid; row: StatementRow }[];
  /**
   * The statements that may have rows of this one, or come before or after it: they have a balance in common with it, and days that are at
   * most three days away, or they are issues of the same statement. If there are none, the last of the same days, which may have its rows
   * with other balances.
   */
  related(laid: Laid): ReadonlySet<Laid>;
  /** The statement with the same header and the same rows, and the movement of each row. */
  sameAs(laid: Laid): { laid: Laid; movements: readonly number[] } | null;
  /** How often each row is in the statements with the same header. */
  countRows(fingerprint: string | null): Map<string, number>;
  /** Whether any statement has a batch with its details. */
  hasDetails(): boolean;
  /** The details of batches with the day and amount of a row, and with its reference or balance. */
  detailsOf(row: StatementRow, by: 'reference' | 'balance' | null): readonly Details[];
  /** The steps of walks that begin on a day with a balance. At most 16. */
  stepsFrom(day: string, balance: bigint | null): readonly { laid: Laid; step: number }[];
  /** The final statements with a row of a day, by format. */
  finalsOf(day: string): ReadonlyMap<string, readonly Laid[]>;
  /** Whether final statements with the same last day connect a statement with another one, in either direction. */
  reachable(laid: Laid): (other: Laid) => boolean;
  /** The bank's id of a row, unless the bank repeats it: two rows of the statement, or two movements of its format, have it. */
  idsOf(laid: Laid): (row: StatementRow) => string | null;
  /**
   * Whether the references of a statement are positions in its file: they count its rows, or several name other amounts than in the
   * statements of its format, and more than name the same. Of a statement that is stored, nobody needs to know.
   */
  arePositions(statement: ReceivedStatement): boolean;
  /** Whether a statement has a number that no other statement has. */
  isNumbered(laid: Laid): boolean;
  /** @returns the number of the movement. */
  addMovement(movement: Omit<Candidate, 'id'>): number;
  /** Adds a statement whose rows are all decided. */
  add(laid: Laid): void;
  /** Two statements lie on one walk. */
  join(one: Laid, other: Laid): void;
  areJoined(one: Laid, other: Laid): boolean;
}

export interface BookedMovement extends Omit<Candidate, 'id'> {
  /** The rows that were identified as this movement. */
  seen: { laid: Laid; position: number }[];
}

export const groupOf = ({ day, amount }: { day: string; amount: bigint }): string => `${day} ${amount}`;

/** Most statements with the same balance that are compared. A balance that many statements have says little. */
const MOST = 16;

/** Another format may have a booking under another day. Readers fetch as many days more. */
export const MARGIN = 3;

const contentKey = ({ day, amount, ...row }: StatementRow, by: 'reference' | 'balance') =>
  `${day} ${amount} ${by} ${row[by]}`;

/** A reversal may have the reference of what it takes back. */
const referenceKey = (format: string, { amount, reference }: StatementRow) =>
  `${format} ${amount < 0n} ${reference}`;

const nameKey = ({ amount, reference }: StatementRow) => `${amount < 0n} ${reference}`;

/** Whether the references are numbers from 1 to the count of the rows, each once. */
function countRows(rows: readonly StatementRow[]): boolean {
  const found = new Set<number>();
  for (const { reference } of rows) {
    if (reference === null) continue;
    const number = /^\d{1,9}$/.test(reference) ? Number(reference) : 0;
    if (number < 1 || number > rows.length || found.has(number)) return false;
    found.add(number);
  }
  return found.size > 0;
}

const numberOf = ({ statement: { number, sequence } }: Laid) => JSON.stringify([number, sequence]);

/** The balances by which a statement is found: of its rows with their amounts, and before and after all rows and each day. */
function balanceKeys(laid: Laid): string[] {
  if (!hasWalk(laid)) return [];
  const keys = new Set([`${laid.opening}`, `${laid.closing}`]);
  for (const position of laid.walk) {
    const { amount, balance } = rowAt(laid, position);
    keys.add(`${amount} ${balance}`);
  }
  for (const [day, positions] of laid.days) {
    const [first, last] = [rowAt(laid, positions[0] as number), rowAt(laid, positions.at(-1) as number)];
    keys.add(`${day} from ${balanceBefore(first)}`).add(`${day} to ${last.balance}`);
  }
  return [...keys];
}

export function openBooks(stored: Stored): Books {
  const movements: BookedMovement[] = [];
  const statements: Laid[] = [];
  const byNumber = new Map<string, Set<string | null>>();
  const byFingerprint = new Map<string, Laid[]>();
  const finals = new Map<string, Map<string, Laid[]>>();
  const chains = new Map<string, Chain>();
  const byOpening = new Map<bigint, Laid[]>();
  const byClosing = new Map<bigint, Laid[]>();
  // Union-find: the root names the walk.
  const parents = new Map<Laid, Laid>();
  const rootOf = (laid: Laid): Laid => {
    let root = laid;
    for (let next = parents.get(root); next !== undefined && next !== root; next = parents.get(root)) {
      parents.set(root, parents.get(next) ?? next);
      root = next;
    }
    return root;
  };
  const join = (one: Laid, other: Laid) => {
    if (hasWalk(one) && hasWalk(other) && rootOf(one) !== rootOf(other))
      parents.set(rootOf(one), rootOf(other));
  };
  const joinLinked = (laid: Laid) => {
    if (!hasWalk(laid) || laid.opening === null || laid.closing === null) return;
    const others = [
      ...(byOpening.get(laid.closing) ?? []).slice(-MOST),
      ...(byClosing.get(laid.opening) ?? []).slice(-MOST),
    ];
    for (const other of others) if (areLinked(laid, other)) join(laid, other);
    append(byOpening, laid.opening, laid);
    append(byClosing, laid.closing, laid);
  };

  const byGroup = createIndex<BookedMovement, number[]>(movements, (index, movement, number) =>
    append(index, groupOf(movement), number),
  );
  const notOnWalk: number[] = [];
  const offWalk = createIndex<number, Set<number>>(notOnWalk, (index, movement) => {
    const group = groupOf(movements[movement] as BookedMovement);
    index.set(group, (index.get(group) ?? new Set()).add(movement));
  });
  /** The movement with a reference, or `several`. */
  const byReference = createIndex<Laid, number | 'several'>(statements, (index, laid) => {
    for (const [position, movement] of laid.movements.entries()) {
      const key = referenceKey(laid.statement.format, rowAt(laid, position));
      const first = index.get(key) ?? movement;
      index.set(key, first === movement ? movement : 'several');
    }
  });
  const amountsOf = createIndex<Laid, Set<bigint>>(statements, (index, { statement: { format, rows } }) => {
    for (const { amount, reference } of rows) {
      if (!isId(reference)) continue;
      const key = `${format} ${reference}`;
      index.set(key, (index.get(key) ?? new Set()).add(amount));
    }
  });
  const details = createIndex<Laid, Details[]>(statements, (index, laid) => {
    for (const positions of findBatches(laid.statement.rows)) {
      const rows = positions.map((it) => ({
        movement: laid.movements[it] as number,
        row: rowAt(laid, it),
      }));
      const last = rows.at(-1)?.row as StatementRow;
      const batch = last.batch as Batch;
      const whole = { ...last, amount: batch.total, reference: batch.reference };
      for (const key of [groupOf(whole), contentKey(whole, 'reference'), contentKey(whole, 'balance')])
        append(index, key, { batch, format: laid.statement.format, rows });
    }
  });
  const byContent = createIndex<Laid, { movement: number; laid: Laid; row: StatementRow }[]>(
    statements,
    (index, laid) => {
      for (const [position, movement] of laid.movements.entries())
        for (const by of ['reference', 'balance'] as const) {
          const row = rowAt(laid, position);
          if (row[by] !== null) append(index, contentKey(row, by), { movement, laid, row });
        }
    },
  );
  const byName = createIndex<Laid, { movement: number; laid: Laid; row: StatementRow }[]>(
    statements,
    (index, laid) => {
      for (const [position, movement] of laid.movements.entries()) {
        const row = rowAt(laid, position);
        if (isId(row.reference)) append(index, nameKey(row), { movement, laid, row });
      }
    },
  );
  const byDay = createIndex<Laid, Laid[]>(statements, (index, laid) => {
    for (const day of laid.days.keys()) append(index, day, laid);
  });
  const byBalance = createIndex<Laid, Laid[]>(statements, (index, laid) => {
    for (const key of balanceKeys(laid)) append(index, key, laid);
  });
  const bySteps = createIndex<Laid, { laid: Laid; step: number }[]>(statements, (index, laid) => {
    for (const [step, position] of laid.walk.entries()) {
      const row = rowAt(laid, position);
      append(index, `${row.day} ${balanceBefore(row)}`, { laid, step });
    }
  });
  const byDays = createIndex<Laid, Laid[]>(statements, (index, laid) => {
    const key = daysKey(laid);
    if (key !== null) append(index, key, laid);
  });

  const daysAround = new Map<string, readonly string[]>();
  const around = (day: string) => {
    const known =
      daysAround.get(day) ?? Array.from({ length: 2 * MARGIN + 1 }, (_, at) => addDays(day, at - MARGIN));
    daysAround.set(day, known);
    return known;
  };

  const books: Books = {
    movements,
    statements,
    ofGroup: (group) => byGroup().get(group) ?? [],
    candidatesOf(rows, mayBe) {
      const found = new Set<number>();
      for (const group of new Set(rows.map(groupOf)))
        for (const movement of offWalk().get(group) ?? []) if (mayBe(movement)) found.add(movement);
      const ids = rows.filter(({ reference }) => isId(reference)).map((row) => contentKey(row, 'reference'));
      for (const key of new Set([...ids, ...rows.map((row) => contentKey(row, 'balance'))]))
        for (const { movement } of byContent().get(key) ?? []) if (mayBe(movement)) found.add(movement);
      return found;
    },
    equalTo: (row, by) => byContent().get(contentKey(row, by)) ?? [],
    withBalance: (row) =>
      around(row.day).flatMap((day) =>
        (byContent().get(contentKey({ ...row, day }, 'balance')) ?? []).slice(0, MOST),
      ),
    named(row) {
      const found = byName().get(nameKey(row));
      if (found === undefined) return [];
      const near = new Set(around(row.day));
      return found.slice(-MOST).filter((it) => near.has(it.row.day));
    },
    related(laid) {
      const [from, to] = [addDays(laid.from, -MARGIN), addDays(laid.to, MARGIN)];
      const isNear = (it: Laid) => it.to >= from && it.from <= to;
      const issues = byDays().get(daysKey(laid) ?? '') ?? [];
      const found = new Set([
        ...issues.slice(-MOST).filter((it) => areIssues(it, laid) || haveSameRows(it, laid)),
        ...balanceKeys(laid)
          .flatMap((key) => (byBalance().get(key) ?? []).slice(-MOST))
          .filter(isNear),
      ]);
      if ([...found].some((it) => it.fingerprint !== laid.fingerprint)) return found;
      const others = [...laid.days.keys()].flatMap((day) => (byDay().get(day) ?? []).slice(-MOST));
      return new Set([...found, ...others]);
    },
    sameAs(laid) {
      for (const other of byFingerprint.get(laid.fingerprint ?? '') ?? []) {
        const movements = findRows(laid, other);
        if (movements !== null) return { laid: other, movements };
      }
      return null;
    },
    countRows(fingerprint) {
      const statements = byFingerprint.get(fingerprint ?? '') ?? [];
      return countEach(statements.flatMap(({ statement }) => statement.rows.map(rowKey)));
    },
    hasDetails: () => details().size > 0,
    detailsOf: (row, by) => details().get(by === null ? groupOf(row) : contentKey(row, by)) ?? [],
    stepsFrom: (day, balance) => (bySteps().get(`${day} ${balance}`) ?? []).slice(0, MOST),
    finalsOf: (day) => finals.get(day) ?? new Map(),
    reachable: (laid) => createReachable(laid, chains.get(laid.to)),
    idsOf({ statement: { rows, format } }) {
      const findAgain = once(() => {
        const own = new Set<string>();
        const again = new Set<string>();
        for (const row of rows) {
          const key = referenceKey(format, row);
          if (own.has(key)) again.add(key);
          own.add(key);
        }
        return again;
      });
      return (row) => {
        const key = referenceKey(format, row);
        return findAgain().has(key) || byReference().get(key) === 'several' ? null : idOf(row);
      };
    },
    arePositions({ rows, format, fingerprint }) {
      if (fingerprint !== null && byFingerprint.has(fingerprint)) return false;
      if (countRows(rows)) return true;
      let [same, other] = [0, 0];
      for (const { amount, reference } of rows.filter((row) => idOf(row) !== null)) {
        const amounts = amountsOf().get(`${format} ${reference}`);
        if (amounts?.has(amount)) same += 1;
        else if (amounts !== undefined) other += 1;
      }
      return other > 1 && other > same;
    },
    isNumbered: (laid) => laid.statement.number !== null && (byNumber.get(numberOf(laid))?.size ?? 0) < 2,
    addMovement: ({ day, amount, text }) => movements.push({ day, amount, text, seen: [] }) - 1,
    add(laid) {
      statements.push(laid);
      for (const [position, movement] of laid.movements.entries()) {
        movements[movement]?.seen.push({ laid, position });
        if (!laid.isOnWalk.has(position)) notOnWalk.push(movement);
      }
      if (laid.fingerprint !== null) append(byFingerprint, laid.fingerprint, laid);
      const number = numberOf(laid);
      byNumber.set(number, (byNumber.get(number) ?? new Set()).add(laid.fingerprint));
      if (isFinal(laid)) {
        addToChain(chains, laid);
        for (const day of laid.days.keys()) {
          const formats = finals.get(day) ?? new Map<string, Laid[]>();
          finals.set(day, formats);
          append(formats, laid.statement.format, laid);
        }
      }
      joinLinked(laid);
    },
    join,
    areJoined: (one, other) => rootOf(one) === rootOf(other),
  };
  for (const movement of stored.movements) books.addMovement(movement);
  for (const it of stored.statements) books.add(layOut(it, it.fingerprint, it.movements));
  for (const [movement, { seen }] of movements.entries()) {
    if (seen.length === 0) notOnWalk.push(movement);
    const [first, ...others] = seen.filter(({ laid }) => hasWalk(laid));
    for (const { laid } of others) if (first !== undefined) join(laid, first.laid);
  }
  return books;
}
