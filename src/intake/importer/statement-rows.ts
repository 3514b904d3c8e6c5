import {
  findDecimalsFault,
  fitBalance,
  formatAmount,
  isBalanceFit,
  LARGEST_AMOUNT,
  UNFIT_BALANCE,
} from '../../../packages/statements/src/amounts.ts';
import type {
  AccountReference,
  Entry,
  StatementEvent,
  StatementIdentity,
} from '../../../packages/statements/src/statement.ts';
import { createSums, type Sums } from '../../../packages/statements/src/sums.ts';
import type { Movement } from '../../ledger/movement.ts';
import { countOf } from '../../platform/text.ts';
import type { BegunStatement, EntryStatement, FoundAccount, Row, StatementTotals } from './rows.ts';
import { createRunningBalances, type RunningBalances } from './running-balances.ts';

/** Turns the content of a statement file into the rows of an import. Finds accounts, and calculates and checks balances. */

/** Finds the account that a statement names. */
export type FindAccount = (reference: AccountReference) => Promise<FoundAccount>;

/** The lengths that a movement's texts may have. */
const LIMITS = { code: 64, description: 4_000, name: 255, opponent_id: 64, opponent_iban: 64 } as const;

interface OpenStatement {
  line: number;
  account: FoundAccount;
  /** Of the account, or else as the statement says; null: neither is known. */
  currency: string | null;
  identity: StatementIdentity;
  /** Shared by its entries, so that they can refer to their statement. */
  shared: EntryStatement;
  /** Of the opening balance. */
  openingDate: string | null;
  /** The balances that the file has for each entry. */
  running: RunningBalances;
  /** The first and the last day of its entries. */
  from: string | null;
  to: string | null;
  sums: Sums;
  /** Entries that could not be read. `sums` does not include them. */
  unread: number;
  entries: number;
}

/**
 * Creates a function that turns the events of a file into rows, in the order of the file. A booked entry gives one row, a pending
 * entry none.
 */
export function createRowReader(
  findAccount: FindAccount,
  { format, file }: Pick<BegunStatement, 'format' | 'file'>,
): (events: readonly StatementEvent[]) => Promise<Row[]> {
  let statement: OpenStatement | null = null;
  return async (events) => {
    const rows: Row[] = [];
    for (const event of events) {
      switch (event.type) {
        case 'statement': {
          const warnings: Row[] = [];
          statement = await openStatement(event, findAccount, { format, file }, warnings);
          const { line, account: reference } = event;
          rows.push({ line, begun: { format, file, reference, account: statement.account } }, ...warnings);
          if ('warning' in statement.account) rows.push({ line, warning: statement.account.warning });
          break;
        }
        case 'entry':
          readEntry(event.entry, statement, rows);
          if (someText(event.entry, ODD))
            rows.push({ line: event.entry.line, warning: explainText(event.entry) });
          break;
        case 'issue':
          if (statement !== null) statement.unread += 1;
          rows.push({ line: event.line, path: event.path, issue: event.message });
          break;
        case 'warning':
          rows.push({ line: event.line, warning: event.message });
          break;
        case 'end':
          if (statement !== null) rows.push(...endStatement(statement, event));
          statement = null;
      }
    }
    return rows;
  };
}

async function openStatement(
  { line, account, kind, opening, identity }: Extract<StatementEvent, { type: 'statement' }>,
  findAccount: FindAccount,
  origin: Pick<BegunStatement, 'format' | 'file'>,
  rows: Row[],
): Promise<OpenStatement> {
  const found = await findAccount(account);
  const currency = 'problem' in found ? account.currency : found.currency;
  const { balance: fit, warning } = fitBalance('opening', opening, currency);
  if (warning !== null) rows.push({ line, warning });
  const balance = fit?.amount ?? null;
  return {
    line,
    account: found,
    identity,
    shared: { kind, ...origin, opening: balance, closing: null },
    currency,
    openingDate: fit?.date ?? null,
    running: createRunningBalances(currency),
    from: null,
    to: null,
    sums: createSums(balance),
    unread: 0,
    entries: 0,
  };
}

/** Adds the rows of an entry to `rows`. */
function readEntry(entry: Entry, statement: OpenStatement | null, rows: Row[]): void {
  if (entry.status === 'pending') return;
  const { line } = entry;
  if (statement === null) {
    rows.push({ line, path: 'account', issue: 'the entry belongs to no statement' });
    return;
  }
  statement.entries += 1;
  const { account, currency } = statement;
  const fault = findDecimalsFault(entry, currency);
  if (fault !== null) {
    statement.unread += 1;
    rows.push({ line, path: 'amount', issue: fault });
    return;
  }
  const isFit = isBalanceFit(entry, currency);
  if (!isFit) rows.push({ line, warning: UNFIT_BALANCE });
  const ownBalance = isFit ? entry.balance : null;
  statement.running.add(isFit ? entry : { ...entry, balance: null });
  if (statement.from === null || entry.date < statement.from) statement.from = entry.date;
  if (statement.to === null || entry.date > statement.to) statement.to = entry.date;
  statement.sums.add(entry);
  if ('problem' in account) {
    // One message is enough for all entries of the statement.
    rows.push({ line, path: 'account', issue: statement.entries === 1 ? account.problem : null });
    return;
  }
  if (entry.currency !== null && entry.currency !== account.currency) {
    const issue = `is ${entry.currency}, and the account is kept in ${account.currency}`;
    rows.push({ line, path: 'currency', issue });
    return;
  }
  const balance = ownBalance ?? statement.sums.balance;
  const movement: Movement = {
    account_id: account.id,
    dc: entry.dc,
    amount: formatAmount(entry.amount, null),
    balance: balance === null ? null : formatAmount(balance, null),
    date_issue: entry.date,
    unique_id: null,
    code: fitText('code', entry.code, line, rows),
    description: fitText('description', entry.description, line, rows),
    name: fitText('name', entry.name, line, rows),
    opponent_id: fitText('opponent_id', entry.opponentId, line, rows),
    opponent_iban: fitText('opponent_iban', entry.opponentIban, line, rows),
  };
  const details = {
    ...entry.details,
    currency: entry.currency,
    ...(entry.isOwnReference && { isOwnReference: entry.isOwnReference }),
  };
  rows.push({ line, movement, reference: entry.reference, statement: statement.shared, details });
}

/** A byte of no letter, or an entity of HTML that the file has encoded twice, as `&amp;nbsp;`. */
const ODD = /\ufffd|&(?:nbsp|amp|lt|gt|quot);/;
const BROKEN_BYTE = /\ufffd/;

const BROKEN =
  'The text has bytes that are not of the encoding of the file. Each is stored as �. A stored movement keeps its text.';
const ENCODED_TWICE =
  'The text has an entity of HTML, such as &nbsp;, which the bank has probably encoded twice. The text is stored as it stands.';

const explainText = (entry: Entry): string => (someText(entry, BROKEN_BYTE) ? BROKEN : ENCODED_TWICE);

const someText = ({ name, description }: Entry, pattern: RegExp): boolean =>
  (name !== null && pattern.test(name)) || (description !== null && pattern.test(description));

type TextName = keyof typeof LIMITS;

/** Cuts long texts with a warning, so that no movement is lost because of them. Leaves out blank texts. */
function fitText(name: TextName, text: string | null, line: number, rows: Row[]): string | null {
  if (text === null) return null;
  const whole = text.trim();
  if (whole === '') return null;
  if (whole.length <= LIMITS[name]) return whole;
  const warning = `${name} is longer than ${LIMITS[name]} characters. The rest of it is not stored.`;
  rows.push({ line, warning });
  return whole.slice(0, LIMITS[name]).replace(/[\uD800-\uDBFF]$/, '');
}

function endStatement(
  statement: OpenStatement,
  { line, closing: written }: Extract<StatementEvent, { type: 'end' }>,
): Row[] {
  const { account, currency, identity, shared, running, sums, entries } = statement;
  const { balance: closing, warning } = fitBalance('closing', written, currency);
  const { credits, debits } = sums;
  const { warnings, ends } = running.end();
  if (warning !== null) warnings.push({ line, warning });
  if ('problem' in account && account.notStored !== undefined && entries > 0) {
    const rows = `${countOf(entries, 'row')} ${account.notStored}`;
    warnings.push({ line: statement.line, warning: `Not stored: ${rows}.` });
  }
  const opening = shared.opening ?? ends?.opening ?? null;
  shared.closing = closing?.amount ?? ends?.closing ?? null;
  shared.opening = opening;
  const difference = sums.differenceTo(shared.closing);
  const totals = { opening, credits, debits, closing: shared.closing, difference };
  // Entries may be booked on other days than the statement says it is about.
  const from = earliest(identity.from, statement.from) ?? closing?.date ?? null;
  const to = latest(identity.to ?? closing?.date ?? null, statement.to);
  const isTooLarge = [opening, shared.closing, credits, debits].some(
    (amount) => amount !== null && (amount > LARGEST_AMOUNT || amount < -LARGEST_AMOUNT),
  );
  if (isTooLarge) warnings.push({ line, warning: TOO_LARGE });
  const ended =
    'problem' in account
      ? null
      : {
          ...identity,
          from,
          to,
          accountId: account.id,
          ...shared,
          openingDate: statement.openingDate,
          closingDate: closing?.date ?? null,
          difference,
          credits,
          debits,
          ...(isTooLarge && { opening: null, closing: null, difference: null, credits: 0n, debits: 0n }),
          entries,
          statement: shared,
        };
  return [...warnings, ...warnOfDifference(statement, totals), { line, totals, ended }];
}

const TOO_LARGE =
  'A balance of the statement, or the sum of its credits or debits, has more than 18 digits before the decimal point. The statement is stored without balances and sums.';

const earliest = (one: string | null, other: string | null) =>
  one === null || (other !== null && other < one) ? other : one;
const latest = (one: string | null, other: string | null) =>
  one === null || (other !== null && other > one) ? other : one;

/** The movements are stored in spite of a difference, but somebody should look at it. */
function warnOfDifference(
  { line, currency, sums: { balance }, unread }: OpenStatement,
  { opening, closing, difference }: StatementTotals,
): Row[] {
  if (opening === null || balance === null || closing === null || !difference) return [];
  const because = unread === 0 ? '' : ` ${unread} of its entries could not be read.`;
  const warning =
    `The closing balance is ${formatAmount(closing, currency)}, but the opening balance ${formatAmount(opening, currency)} ` +
    `and the entries give ${formatAmount(balance, currency)}: a difference of ${formatAmount(difference, currency)}.${because}`;
  return [{ line, warning }];
}
