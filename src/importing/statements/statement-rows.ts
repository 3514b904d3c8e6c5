import type { FoundAccount, StatementTotals } from '../formats/format.ts';
import { formatAmount } from '../formats/money.ts';
import type { AccountReference, Balance, Entry, MinorUnits, StatementEvent } from '../formats/statement.ts';

/** Turns what a statement file says into the rows of an import: finds the accounts, works out balances, and checks them. */

/** Finds the account that a statement names. */
export type FindAccount = (reference: AccountReference) => Promise<FoundAccount>;

/** A movement as a client would send it in JSON. */
export interface StatementMovement {
  account_id: string;
  dc: 'Debit' | 'Credit';
  code: string | null;
  amount: string;
  balance: string | null;
  description: string | null;
  date_issue: string;
  opponent_id: string | null;
  opponent_iban: string | null;
  unique_id: null;
  name: string | null;
}

/** What one line of a statement file gives. `issue` is a rejected entry; without a message, an earlier one says why. */
export type StatementRow =
  | { type: 'movement'; line: number; movement: StatementMovement; reference: string | null }
  | { type: 'issue'; line: number; path: string; message: string | null }
  | { type: 'warning'; line: number; message: string }
  | { type: 'statement'; line: number; reference: AccountReference; account: FoundAccount }
  | { type: 'end'; line: number; totals: StatementTotals };

/** The lengths that a movement's texts may have. */
const LIMITS = { code: 64, description: 4_000, name: 255, opponent_id: 64, opponent_iban: 64 } as const;

interface OpenStatement {
  line: number;
  account: FoundAccount;
  opening: Balance | null;
  /** The balance after the entries so far; null if the opening balance is not known. */
  balance: MinorUnits | null;
  credits: MinorUnits;
  debits: MinorUnits;
  /** Entries that could not be read. What they would change is not in `balance`. */
  unread: number;
  entries: number;
}

/** Yields the rows of a file, in its order. Every entry gives one row; pending entries give none. */
export async function* readStatementRows(
  events: AsyncIterable<StatementEvent[]>,
  findAccount: FindAccount,
): AsyncGenerator<StatementRow[]> {
  let statement: OpenStatement | null = null;
  for await (const group of events) {
    const rows: StatementRow[] = [];
    for (const event of group) {
      switch (event.type) {
        case 'statement':
          statement = await openStatement(event, findAccount);
          rows.push({
            type: 'statement',
            line: event.line,
            reference: event.account,
            account: statement.account,
          });
          break;
        case 'entry':
          readEntry(event.entry, statement, rows);
          break;
        case 'issue':
          if (statement !== null) statement.unread += 1;
          rows.push(event);
          break;
        case 'warning':
          rows.push(event);
          break;
        case 'end':
          if (statement !== null) rows.push(...endStatement(statement, event));
          statement = null;
      }
    }
    yield rows;
  }
}

async function openStatement(
  { line, account, opening }: Extract<StatementEvent, { type: 'statement' }>,
  findAccount: FindAccount,
): Promise<OpenStatement> {
  const found = await findAccount(account);
  const balance = opening?.amount ?? null;
  return { line, account: found, opening, balance, credits: 0n, debits: 0n, unread: 0, entries: 0 };
}

/** Adds the rows of an entry to `rows`. */
function readEntry(entry: Entry, statement: OpenStatement | null, rows: StatementRow[]): void {
  if (entry.status === 'pending') return;
  const reject = (path: string, message: string | null): void => {
    rows.push({ type: 'issue', line: entry.line, path, message });
  };
  if (statement === null) {
    reject('account', 'the entry belongs to no statement');
    return;
  }
  statement.entries += 1;
  if (entry.dc === 'Credit') statement.credits += entry.amount;
  else statement.debits += entry.amount;
  if (statement.balance !== null) {
    statement.balance += entry.dc === 'Credit' ? entry.amount : -entry.amount;
  }
  const { account } = statement;
  if ('problem' in account) {
    reject('account', statement.entries === 1 ? account.problem : null);
    return;
  }
  if (entry.currency !== null && entry.currency !== account.currency) {
    reject('currency', `is ${entry.currency}, and the account is kept in ${account.currency}`);
    return;
  }
  const shorten = (name: TextName, text: string | null) => fitText(name, text, entry.line, rows);
  const balance = entry.balance ?? statement.balance;
  const movement: StatementMovement = {
    account_id: account.id,
    dc: entry.dc,
    amount: formatAmount(entry.amount),
    balance: balance === null ? null : formatAmount(balance),
    date_issue: entry.date,
    unique_id: null,
    code: shorten('code', entry.code),
    description: shorten('description', entry.description),
    name: shorten('name', entry.name),
    opponent_id: shorten('opponent_id', entry.opponentId),
    opponent_iban: shorten('opponent_iban', entry.opponentIban),
  };
  rows.push({ type: 'movement', line: entry.line, movement, reference: entry.reference });
}

type TextName = keyof typeof LIMITS;

/** A movement must not be lost because a bank writes long texts: they are cut, with a warning. Blank ones are left out. */
function fitText(name: TextName, text: string | null, line: number, rows: StatementRow[]): string | null {
  if (text === null) return null;
  const whole = text.trim();
  if (whole === '') return null;
  if (whole.length <= LIMITS[name]) return whole;
  const message = `${name} is longer than ${LIMITS[name]} characters. The rest of it is not stored.`;
  rows.push({ type: 'warning', line, message });
  return whole.slice(0, LIMITS[name]).replace(/[\uD800-\uDBFF]$/, '');
}

function endStatement(
  statement: OpenStatement,
  { line, closing }: Extract<StatementEvent, { type: 'end' }>,
): StatementRow[] {
  const { opening, balance, credits, debits } = statement;
  const difference = balance === null || closing === null ? null : closing.amount - balance;
  const totals = {
    opening: opening?.amount ?? null,
    credits,
    debits,
    closing: closing?.amount ?? null,
    difference,
  };
  return [...warnOfDifference(statement, totals), { type: 'end', line, totals }];
}

/** A difference costs no movement, but somebody should look at it. */
function warnOfDifference(
  { line, balance, unread }: OpenStatement,
  { opening, closing, difference }: StatementTotals,
): StatementRow[] {
  if (opening === null || balance === null || closing === null || !difference) return [];
  const because = unread === 0 ? '' : ` ${unread} of its entries could not be read.`;
  const message =
    `The closing balance is ${formatAmount(closing)}, but the opening balance ${formatAmount(opening)} ` +
    `and the entries give ${formatAmount(balance)}: a difference of ${formatAmount(difference)}.${because}`;
  return [{ type: 'warning', line, message }];
}
