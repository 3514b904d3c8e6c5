import { hash } from 'node:crypto';
import { MARGIN } from '../../packages/reconcile/src/books.ts';
import type { findKnown } from '../../packages/reconcile/src/known.ts';
import type {
  Candidate,
  Decision,
  StatementRow,
  StoredStatement,
} from '../../packages/reconcile/src/statement.ts';
import type { BankHistory, BankStatement } from './histories.ts';

/**
 * Sends a history to the rule and judges what is stored, by day and amount:
 *
 * - `exact`: what the bank has booked.
 * - `listed`: something else, and an assumption of a row or a conflict says so.
 * - `silent`: something else, and nothing says so.
 */
export interface Judgement {
  exact: number;
  listed: number;
  silent: number;
  /** Days and amounts of which a row was an assumption, whether it is right or not. */
  assumed: number;
  /** The first thing that is silently wrong. */
  wrong: { group: string; file: number; stored: number; booked: number } | null;
}

/**
 * After each file, the stored movements of each day of which all final statements have come must be the bank's. On the other days, none may
 * be too much.
 */
export function judge(
  { bookings, files, finals, due, isMoved, isBatched }: BankHistory,
  decide: typeof findKnown,
): Judgement {
  const groupOf = ({ day, amount }: { day: string; amount: bigint }) =>
    isBatched ? day : isMoved ? String(amount) : `${day} ${amount}`;
  const countAll = (items: readonly { day: string; amount: bigint }[]) => {
    const counts = new Map<string, number>();
    for (const it of items)
      counts.set(groupOf(it), (counts.get(groupOf(it)) ?? 0) + (isBatched ? Number(it.amount) : 1));
    return counts;
  };
  const books = createStoredBooks(decide);
  const sent = new Set<BankStatement>();
  const assumed = new Set<string>();
  const silent = new Set<string>();
  const listed = new Set<string>();
  const booked = countAll(bookings);
  let wrong: Judgement['wrong'] = null;
  for (const [index, file] of files.entries()) {
    const decisions = books.receive(file);
    for (const [number, statement] of file.entries()) {
      sent.add(statement);
      for (const [position, decision] of (decisions[number] ?? []).entries())
        if (isShown(decision)) assumed.add(groupOf(statement.rows[position] as StatementRow));
    }
    const open = new Set(
      (due ?? finals.flatMap((it) => it.rows.map(({ day }) => ({ day, statement: it })))).flatMap((it) =>
        it.statement === null || !sent.has(it.statement) ? [it.day] : [],
      ),
    );
    const stored = countAll(books.movements);
    for (const group of new Set([...stored.keys(), ...booked.keys()])) {
      const [found, expected] = [stored.get(group) ?? 0, booked.get(group) ?? 0];
      const isOpen = isMoved ? open.size > 0 : open.has(group.split(' ')[0] ?? '');
      if (found === expected || (isOpen && (found < expected || isBatched))) continue;
      if (assumed.has(group)) listed.add(group);
      else {
        silent.add(group);
        wrong ??= { group, file: index, stored: found, booked: expected };
      }
    }
  }
  const isWrong = new Set([...silent, ...listed]);
  return {
    exact: [...booked.keys()].filter((it) => !isWrong.has(it)).length,
    listed: [...listed].filter((it) => !silent.has(it)).length,
    silent: silent.size,
    assumed: assumed.size,
    wrong,
  };
}

/** Sends each file twice. @returns the first file whose second copy has stored something; null: none has. */
export function findUnstable({ files }: BankHistory, decide: typeof findKnown): number | null {
  const books = createStoredBooks(decide);
  for (const [index, file] of files.entries()) {
    books.receive(file);
    if (books.receive(file).some((it) => it.some(({ outcome }) => outcome === 'new'))) return index;
  }
  return null;
}

const isShown = (it: Decision): boolean =>
  it.outcome === 'new' ? it.isAssumed : it.outcome === 'conflict' || it.reason === 'assumed';

/** A row of a stored statement, or a movement that came without one. */
interface StoredRow {
  statement: string | null;
  movement: number;
  position: number;
  row: StatementRow;
}

/** The books of one account as the database keeps them: a digest of each text, no text of a repeated row, and each header once. */
function createStoredBooks(decide: typeof findKnown) {
  const movements: Candidate[] = [];
  const headers = new Map<string, BankStatement & { id: string }>();
  const rows: StoredRow[] = [];

  /** Reads the movements and rows of these days, and the movements of other days that such a row repeats. */
  function read(days: (day: string) => boolean) {
    const near = rows.filter(({ row }) => days(row.day));
    const ids = [...new Set(near.map(({ movement }) => movement))];
    for (const [movement, { day }] of movements.entries()) if (days(day)) ids.push(movement);
    const numbers = [...new Set(ids)].sort((one, other) => one - other);
    const numberOf = new Map(numbers.map((movement, index) => [movement, index]));
    const byStatement = new Map<string | null, StoredRow[]>();
    // Of a repeated movement of another day, its own statement is read too.
    for (const it of rows.filter(
      (row) => near.includes(row) || (isFirst(row) && numberOf.has(row.movement)),
    )) {
      byStatement.set(it.statement, [...(byStatement.get(it.statement) ?? []), it]);
    }
    const statements = [...byStatement].map(([id, ofStatement]): StoredStatement => {
      const header = id === null ? undefined : headers.get(id);
      const sorted = ofStatement.toSorted(
        (one, other) => one.position - other.position || one.movement - other.movement,
      );
      return {
        id,
        kind: header?.kind ?? 'none',
        format: header?.format ?? 'json',
        number: header?.number ?? null,
        sequence: header?.sequence ?? null,
        from: header?.from ?? null,
        to: header?.to ?? null,
        opening: header?.opening ?? null,
        closing: header?.closing ?? null,
        fingerprint: header?.fingerprint ?? null,
        rows: sorted.map(({ row }) => row),
        movements: sorted.map(({ movement }) => numberOf.get(movement) as number),
      };
    });
    return {
      numbers,
      stored: { movements: numbers.map((it) => movements[it] as Candidate), statements },
    };
  }

  const firsts = new Set<StoredRow>();
  const isFirst = (row: StoredRow) => firsts.has(row);

  return {
    movements,
    receive(file: readonly BankStatement[]): Decision[][] {
      const received = file.map((it) => ({ ...it, rows: it.rows.map(toRow) }));
      const { numbers, stored } = read(daysOf(received));
      const { decisions } = decide(stored, received);
      const numberOf = (movement: number) =>
        numbers[movement] ?? movements.length - created + (movement - numbers.length);
      const news = decisions.flat().filter(({ outcome }) => outcome === 'new');
      const created = news.length;
      for (const _ of news) movements.push(null as unknown as Candidate);
      for (const [index, it] of received.entries()) {
        const known = it.fingerprint === null ? undefined : headers.get(it.fingerprint);
        const id = it.fingerprint;
        if (id !== null && known === undefined) headers.set(id, { ...(file[index] as BankStatement), id });
        for (const [position, decision] of (decisions[index] ?? []).entries()) {
          const row = it.rows[position] as StatementRow;
          const movement = numberOf(decision.movement);
          const { day, amount, text } = row;
          if (decision.outcome === 'new') {
            movements[movement] = { id: String(movement + 1), day, amount, text };
            const first = { statement: id, movement, position, row };
            rows.push(first);
            firsts.add(first);
            const replaced = decision.replaces === undefined ? null : numberOf(decision.replaces);
            const at = rows.findIndex(
              (old) => old.statement === id && old.movement === replaced && !firsts.has(old),
            );
            if (at >= 0) rows.splice(at, 1);
          } else if (decision.outcome === 'known')
            for (const it of decision.rows ?? [{ ...row, movement: decision.movement }]) {
              const known = { statement: id, movement: numberOf(it.movement), position };
              if (id === null || rows.some((old) => old.statement === id && old.movement === known.movement))
                continue;
              const { amount: ofMovement } = movements[known.movement] as Candidate;
              const { balance, reference } = it;
              rows.push({ ...known, row: { day, amount: ofMovement, balance, reference, text: '' } });
            }
        }
      }
      return decisions;
    },
  };
}

const toRow = ({ day, amount, balance, reference, text, batch }: StatementRow): StatementRow => ({
  day,
  amount,
  balance,
  reference: reference?.slice(0, 128) || null,
  text: hash('md5', text, 'base64'),
  ...(text.includes('\uFFFD') && { isBroken: true as const }),
  ...(batch && { batch }),
});

const moveDay = (day: string, days: number) =>
  new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);

/** Whether a day is one of the file's, or up to three days before or after. Ranges of its statements that meet are joined. */
function daysOf(statements: readonly { rows: readonly StatementRow[]; to: string | null }[]) {
  const ranges = statements.map(({ rows, to }) => {
    const days = [...rows.map(({ day }) => day), ...(to === null ? [] : [to])].sort();
    return [moveDay(days[0] ?? '', -MARGIN), moveDay(days.at(-1) ?? '', MARGIN)] as const;
  });
  return (day: string) => ranges.some(([from, to]) => from <= day && day <= to);
}
