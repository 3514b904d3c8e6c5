import { createHash } from 'node:crypto';
import { findKnown, type KnownOptions } from '../../packages/reconcile/src/known.ts';
import type {
  Candidate,
  Decision,
  ReceivedStatement,
  Statement,
  StatementRow,
  StoredStatement,
} from '../../packages/reconcile/src/statement.ts';
import { balanceBefore, layOut } from '../../packages/reconcile/src/walk.ts';

/** Rows as a test writes them: "C10", "D15=985" with its balance, "C5//1" with a reference, "D7 Metro" with a text, "02:D15" on the 2nd. */
export function rowsOf(text: string, opening: number | null = null): StatementRow[] {
  let balance = opening === null ? null : BigInt(opening) * 100n;
  return text
    .split(',')
    .map((it) => it.trim())
    .filter((it) => it !== '')
    .map((it) => {
      const [, day = '01', dc, amount, printed, reference, words = ''] =
        /^(?:(\d\d):)?([DC])(\d+)(?:=(-?\d+))?(?:\/\/(\S+))?(?: (.+))?$/.exec(it) ?? [];
      if (dc === undefined) throw new Error(`cannot read the row ${it}`);
      const signed = BigInt(amount ?? 0) * (dc === 'D' ? -100n : 100n);
      if (balance !== null) balance += signed;
      return {
        day: `2026-03-${day}`,
        amount: signed,
        balance: printed === undefined ? balance : BigInt(printed) * 100n,
        reference: reference ?? null,
        text: words,
        ...(words.includes('\uFFFD') && { isBroken: true as const }),
      };
    });
}

export type Given = Partial<Omit<Statement, 'rows' | 'opening' | 'closing'>> & {
  rows: string;
  opening?: number;
  /** Balances stand beside the rows, and nowhere else. */
  isPrinted?: boolean;
  /** The name of its file within a zip. */
  file?: string;
};

export function statementOf({ rows: text, opening, isPrinted = false, ...rest }: Given): ReceivedStatement {
  const rows = rowsOf(text, opening ?? null);
  const cents = opening === undefined ? null : BigInt(opening) * 100n;
  const sum = rows.reduce((total, { amount }) => total + amount, 0n);
  const statement: Statement = {
    kind: 'final',
    format: 'mt940',
    number: null,
    sequence: null,
    from: null,
    to: rows.at(-1)?.day ?? '2026-03-01',
    ...(isPrinted ? endsOf(rows) : { opening: cents, closing: cents === null ? null : cents + sum }),
    ...rest,
    rows,
  };
  return { ...statement, fingerprint: statement.kind === 'none' ? null : fingerprintOf(statement) };
}

/** The balances before and after all rows, if the file says in which order it lists them. */
function endsOf(rows: readonly StatementRow[]): Pick<Statement, 'opening' | 'closing'> {
  const none = { opening: null, closing: null };
  const header = {
    kind: 'final',
    format: 'csv',
    number: null,
    sequence: null,
    from: null,
    to: null,
  } as const;
  const { walk } = layOut({ ...header, ...none, rows }, null);
  // The balance of a single row links with nothing, and its file says in which order it lists it.
  if (walk.length !== rows.length && rows.length !== 1) return none;
  const [first, last] = [rows[walk[0] ?? 0], rows[walk.at(-1) ?? 0]];
  return { opening: first === undefined ? null : balanceBefore(first), closing: last?.balance ?? null };
}

export const fingerprintOf = (statement: Statement): string =>
  createHash('sha256')
    .update(JSON.stringify(statement, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
    .digest('hex');

/** The books of one account, kept in memory as the database keeps them. */
export function createBooks(options: KnownOptions = {}, decide: typeof findKnown = findKnown) {
  const movements: Candidate[] = [];
  const statements: (StoredStatement & { movements: number[] })[] = [];

  return {
    movements,
    statements,
    receive(...received: ReceivedStatement[]): Decision[][] {
      const { decisions } = decide({ movements, statements }, received, options);
      const stored = movements.length;
      const created = decisions.flat().filter(({ outcome }) => outcome === 'new').length;
      movements.push(...Array.from({ length: created }, () => null as unknown as Candidate));
      for (const [index, statement] of received.entries()) {
        const ids = (decisions[index] ?? []).map(({ movement }) => movement);
        for (const [position, decision] of (decisions[index] ?? []).entries()) {
          const { day, amount, text } = statement.rows[position] as StatementRow;
          if (decision.outcome === 'new')
            movements[decision.movement] = { id: String(decision.movement + 1), day, amount, text };
        }
        const known = statements.find(
          (it) => it.fingerprint !== null && it.fingerprint === statement.fingerprint,
        );
        // A row in conflict is held, and stored nowhere.
        const isStored = (position: number) => decisions[index]?.[position]?.outcome !== 'conflict';
        if (known === undefined)
          statements.push({
            ...statement,
            id: String(statements.length + 1),
            rows: statement.rows.filter((_, position) => isStored(position)),
            movements: ids.filter((_, position) => isStored(position)),
          });
        // The same statement is kept once. An entry of it that was taken for another one's movement now has its own.
        else
          for (const [position, decision] of (decisions[index] ?? []).entries())
            if (decision.outcome === 'new' && known.movements[position] === decision.replaces)
              known.movements[position] = decision.movement;
      }
      if (movements.some((it) => it === null)) throw new Error(`movements after ${stored} were not filled`);
      return decisions;
    },
  };
}

/** What became of the rows of a file, in short: "new same assumed new?" (a new one that is assumed). */
export const told = (decisions: readonly Decision[][]): string =>
  decisions
    .flat()
    .map((it) =>
      it.outcome === 'new'
        ? it.isAssumed
          ? 'new?'
          : 'new'
        : it.outcome === 'conflict'
          ? 'conflict'
          : it.reason,
    )
    .join(' ');
