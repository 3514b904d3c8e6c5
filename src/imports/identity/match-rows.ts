/**
 * Matches rows with movements of the same day and amount that no balance tells apart. Each row gets at most one movement. Tries in
 * this order: the same reference; the same balance; the same content, for rows that came without a statement; the same text; the
 * count (the third such payment of a day is the third one stored).
 */

interface MatchableRow {
  /** The day and amount. */
  group: string;
  reference: string | null;
  balance: bigint | null;
  text: string;
  /** The row came without a statement. Among such rows, its whole content is its identity. */
  isLoose: boolean;
}

export interface Candidate {
  group: string;
  references: readonly string[];
  /** The last row of a file of the same format, which may be cut off. */
  mayBeCut: boolean;
  balances: readonly bigint[];
  text: string;
  isLoose: boolean;
  /** All candidates of one class are excluded for the same rows. */
  class: string;
}

export interface Match {
  candidate: number;
  isAssumed: boolean;
}

/** The property that a row and a candidate have in common, besides their day and amount. */
export type MatchedBy = 'reference' | 'balance' | 'text' | 'count';

/** References that a file counts from 1 are not ids. */
const COUNTED = /^\d{1,4}$/;

/**
 * @param mayBe whether a row, by its index, may be matched with candidates of a class.
 * @returns the match of each row; null: it is new.
 */
export function matchRows(
  rows: readonly MatchableRow[],
  candidates: readonly Candidate[],
  mayBe: (row: number, candidateClass: string, by: MatchedBy) => boolean,
  mayAssume: boolean,
): (Match | null)[] {
  const matches = rows.map((): Match | null => null);
  const isTaken = candidates.map(() => false);
  const take = (list: Queue | undefined): number | null => {
    if (list === undefined) return null;
    while (list.at < list.items.length && isTaken[list.items[list.at] as number]) list.at += 1;
    return list.items[list.at] ?? null;
  };
  const matchBy = (
    keysOfCandidate: (it: Candidate) => readonly string[],
    keyOfRow: (it: MatchableRow) => string | null,
    isCertain: (row: MatchableRow, candidate: Candidate) => boolean,
    mayMatch: (row: number, candidate: number) => boolean = () => true,
  ) => {
    const queues = new Map<string, Queue>();
    for (const [index, candidate] of candidates.entries())
      if (!isTaken[index])
        for (const key of keysOfCandidate(candidate)) put(queues, `${candidate.group} ${key}`, index);
    for (const [index, row] of rows.entries()) {
      const key = keyOfRow(row);
      if (matches[index] !== null || key === null) continue;
      const candidate = take(queues.get(`${row.group} ${key}`));
      if (candidate === null || !mayMatch(index, candidate)) continue;
      const isAssumed = !isCertain(row, candidates[candidate] as Candidate);
      if (isAssumed && !mayAssume) continue;
      isTaken[candidate] = true;
      matches[index] = { candidate, isAssumed };
    }
  };
  const classOf = (candidate: number) => (candidates[candidate] as Candidate).class;
  matchBy(
    ({ references }) => references,
    ({ reference }) => reference,
    ({ reference }) => !COUNTED.test(reference ?? ''),
    (row, candidate) =>
      !COUNTED.test(rows[row]?.reference ?? '') || mayBe(row, classOf(candidate), 'reference'),
  );
  matchCut();
  matchBy(
    ({ balances }) => balances.map(String),
    ({ balance }) => (balance === null ? null : String(balance)),
    () => true,
    (row, candidate) => mayBe(row, classOf(candidate), 'balance'),
  );
  if (!mayAssume) return matches;
  const contentOf = (text: string, balance: bigint | null | undefined) => `${balance ?? ''} ${text}`;
  matchBy(
    ({ isLoose, text, balances }) => (isLoose ? [contentOf(text, balances[0])] : []),
    ({ isLoose, text, balance }) => (isLoose ? contentOf(text, balance) : null),
    () => false,
  );
  matchByCount(true);
  matchByCount(false);
  return matches;

  /** Matches a row with the row at which an earlier file was cut off: "R100" was "R10024". */
  function matchCut(): void {
    const cut = candidates.flatMap(({ mayBeCut }, index) => (mayBeCut && !isTaken[index] ? [index] : []));
    if (!mayAssume || cut.length === 0) return;
    const left = new Map<string, Queue>();
    for (const [index, { group, reference }] of rows.entries())
      if (matches[index] === null && reference !== null) put(left, group, index);
    for (const candidate of cut) {
      const { group, references } = candidates[candidate] as Candidate;
      const isWhole = (row: number) => references.some((it) => rows[row]?.reference?.startsWith(it));
      const row = left.get(group)?.items.find((it) => matches[it] === null && isWhole(it));
      if (row === undefined) continue;
      isTaken[candidate] = true;
      matches[row] = { candidate, isAssumed: true };
    }
  }

  function matchByCount(haveSameText: boolean): void {
    const textOf = ({ text }: { text: string }) => (haveSameText ? text : '');
    const groups = new Map<string, Map<string, Queue>>();
    for (const [index, candidate] of candidates.entries()) {
      if (isTaken[index]) continue;
      const key = `${candidate.group} ${textOf(candidate)}`;
      const classes = groups.get(key) ?? new Map<string, Queue>();
      groups.set(key, classes);
      put(classes, candidate.class, index);
    }
    for (const [index, row] of rows.entries()) {
      if (matches[index] !== null) continue;
      let first: number | null = null;
      for (const [candidateClass, queue] of groups.get(`${row.group} ${textOf(row)}`) ?? []) {
        if (!mayBe(index, candidateClass, haveSameText ? 'text' : 'count')) continue;
        const candidate = take(queue);
        if (candidate !== null && (first === null || candidate < first)) first = candidate;
      }
      if (first === null) continue;
      isTaken[first] = true;
      matches[index] = { candidate: first, isAssumed: true };
    }
  }
}

/** Indexes of candidates in their order. The candidates before `at` are taken. */
interface Queue {
  items: number[];
  at: number;
}

function put(queues: Map<string, Queue>, key: string, index: number): void {
  const queue = queues.get(key);
  if (queue === undefined) queues.set(key, { items: [index], at: 0 });
  else queue.items.push(index);
}
