import type { Entry, MinorUnits } from '../statement.ts';

/**
 * Balances among the transactions. Some banks, most of them in Brazil, write the balance of a day as a transaction without a FITID.
 * Such a row is a balance, and no movement, only if its text is a name of a balance and the other rows prove its amount.
 */

/** Names of balances, in lower case and without accents, by language. */
const NAMES = new RegExp(
  `^(?:${[
    // Portuguese, Spanish, Italian
    'saldo|s a l d o|saldo (?:anterior|inicial|final|atual|actual|disponivel|disponible|contabil|contable|iniziale|finale|contabile)',
    'saldo (?:do dia|del dia|em conta|em conta corrente|da conta|total|parcial|bloqueado|precedente|disponibile)',
    'saldo (?:total )?disponivel(?: do)? dia',
    // English
    '(?:opening|closing|beginning|ending|previous|current|available|ledger|daily)? ?balance',
    'balance (?:brought|carried) forward|balance b/?f|balance c/?f',
    // German
    '(?:anfangs|end|schluss|tages|alter |neuer )saldo|saldovortrag|kontostand',
    // French
    '(?:ancien |nouveau )?solde|solde (?:initial|final|precedent|anterieur|du jour|crediteur|debiteur)(?: au)?',
    // Dutch, Danish, Swedish, Norwegian
    '(?:begin|eind)saldo|vorig saldo|nieuw saldo|primosaldo|ultimosaldo|(?:ingaende|utgaende|inngaende|utgaende) saldo',
    // Turkish
    '(?:acilis|kapanis|devreden|onceki|gun sonu|guncel)? ?bakiye(?:si)?',
    // Polish, Czech, Slovak, Hungarian
    'saldo (?:poczatkowe|koncowe)|(?:pocatecni|konecny|pociatocny|konecny) (?:zustatek|zostatok)|(?:nyito|zaro) egyenleg',
  ].join('|')})[\\s:.\\d/-]*$`,
);

/** Whether a text names a balance, perhaps with a date after the name. */
export const isNameOfBalance = (text: string | null): boolean =>
  text !== null && text.length <= 60 && NAMES.test(plain(text));

const plain = (text: string): string =>
  text.normalize('NFD').replaceAll(/\p{M}/gu, '').replaceAll('ı', 'i').toLowerCase().trim();

/** Most rows of a statement that may be balances. Further ones are transactions. */
const MAX_ROWS = 1_000;

interface Row {
  entry: Entry;
  amount: MinorUnits;
  /** The sum of the transactions before the row, in the order of the file. */
  before: MinorUnits;
}

/** Keeps the rows of a statement that may be balances until the statement ends. */
export function createBalanceRows() {
  const rows: Row[] = [];
  const byDate = new Map<string, MinorUnits>();
  let sum = 0n;

  return {
    /**
     * Takes a booked transaction.
     * @returns true if the row is kept, because it may be a balance
     */
    take(entry: Entry): boolean {
      const amount = entry.dc === 'Debit' ? -entry.amount : entry.amount;
      if (entry.reference === null && isNameOfBalance(entry.description) && rows.length < MAX_ROWS) {
        rows.push({ entry, amount, before: sum });
        return true;
      }
      sum += amount;
      byDate.set(entry.date, (byDate.get(entry.date) ?? 0n) + amount);
      return false;
    },
    /**
     * Decides about the rows that were kept. A balance plus the transactions after it is the ledger balance; and two balances differ
     * by the transactions between them. A file lists its transactions in either order.
     * @param ledger the ledger balance of the statement
     */
    decide(ledger: MinorUnits | null): { entry: Entry; isBalance: boolean }[] {
      const forwards = groupBy(rows, ({ amount, before }) => amount - before);
      const backwards = groupBy(rows, ({ amount, before }) => amount + before);
      const since = sumSince(
        byDate,
        rows.map(({ entry }) => entry.date),
      );
      return rows.map(({ entry, amount, before }) => {
        const from = since.get(entry.date) ?? 0n;
        const isOfLedger =
          ledger !== null &&
          (amount - before === ledger - sum ||
            amount + before === ledger ||
            amount === ledger - from + (byDate.get(entry.date) ?? 0n) ||
            amount === ledger - from);
        const isOfOthers =
          (forwards.get(amount - before)?.size ?? 0) > 1 || (backwards.get(amount + before)?.size ?? 0) > 1;
        return { entry, isBalance: isOfLedger || isOfOthers };
      });
    },
  };
}

/** For each of some days, the sum of the transactions of that day and of later days. */
function sumSince(byDate: ReadonlyMap<string, MinorUnits>, days: readonly string[]): Map<string, MinorUnits> {
  const sums = new Map<string, MinorUnits>();
  let sum = 0n;
  for (const date of [...new Set([...byDate.keys(), ...days])].sort().reverse()) {
    sum += byDate.get(date) ?? 0n;
    sums.set(date, sum);
  }
  return sums;
}

/** By key, the different sums before the rows. */
function groupBy(rows: readonly Row[], keyOf: (row: Row) => bigint): Map<bigint, Set<bigint>> {
  const groups = new Map<bigint, Set<bigint>>();
  for (const row of rows) {
    const key = keyOf(row);
    groups.set(key, (groups.get(key) ?? new Set()).add(row.before));
  }
  return groups;
}
