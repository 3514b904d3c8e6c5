import type { Completeness, PeriodStatus } from '../../../packages/reconcile/src/periods.ts';
import type { Sql } from '../../database/transaction.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import { type Column, customerColumn, formatCount, Moment, Tag, type Tone } from '../page/elements.tsx';

/** The accounts with the results of their statements, as tables of the console show them. */

export interface BookedAccount {
  id: string;
  customer_id: string;
  customer: string;
  bank: string;
  title: string;
  currency: string;
  iban: string | null;
  number: string | null;
  /** The last day and the number of the newest final statement. null: there is no statement, or it has no number. */
  newest_day: string | null;
  newest_number: string | null;
  /** The result of the last check. null: nothing was checked. */
  completeness: Completeness | null;
  /** Its statements are looked at ten minutes after the last file has come. MySQL gives it as a string. */
  is_due: number | string | null;
  late_since: Date | null;
  open_conflicts: number | string;
}

/** The groups in which accounts are listed: what is wrong comes first. The last two have accounts of which no statement has come. */
export const ACCOUNT_GROUPS = [
  'contradictory',
  'incomplete',
  'unknown',
  'complete',
  'without statements',
  'without movements',
] as const;

type AccountGroup = (typeof ACCOUNT_GROUPS)[number];

/** Where a page of accounts begins: with the accounts of a group below an id, the newest first. */
export interface AccountPlace {
  group: AccountGroup;
  below: string;
}

export const FIRST_ACCOUNTS: AccountPlace = { group: 'contradictory', below: BEYOND_NEWEST };

/** How many accounts are looked at for each of the last two groups of a page, because no index has them. */
const LOOKED_AT = 1_000;

/** Indexes: statement_checks_result; of a customer statement_checks_customer. */
const FIND_CHECKED = (ofCustomer: boolean) => `
  SELECT account_id AS id, 1 AS is_found
  FROM statement_checks FORCE INDEX (${ofCustomer ? 'statement_checks_customer' : 'statement_checks_result'})
  WHERE completeness = ? AND account_id < ? ${ofCustomer ? 'AND customer_id = ?' : ''} ORDER BY account_id DESC LIMIT ?`;

/** Indexes: the primary key; of a customer accounts_customer. */
const FIND_UNCHECKED = (ofCustomer: boolean, hasMovements: boolean) => `
  SELECT id, has_statements = 0 AND last_update IS ${hasMovements ? 'NOT NULL' : 'NULL'} AS is_found
  FROM accounts FORCE INDEX (${ofCustomer ? 'accounts_customer' : 'PRIMARY'})
  WHERE id < ? ${ofCustomer ? 'AND customer_id = ?' : ''} ORDER BY id DESC LIMIT ${LOOKED_AT}`;

interface FoundId {
  id: string;
  /** Whether it is in the group. MySQL gives it as a string. */
  is_found: number | string;
}

/** Finds accounts of one group. @returns also the id below which the group goes on. null: these are its last accounts. */
async function findIds(
  sql: Sql,
  { group, below }: AccountPlace,
  customerId: string | null,
  limit: number,
): Promise<{ ids: string[]; next: string | null }> {
  const owner = customerId === null ? [] : [customerId];
  const hasNoStatement = group === 'without statements' || group === 'without movements';
  const rows = hasNoStatement
    ? await sql.query<FoundId[]>(FIND_UNCHECKED(customerId !== null, group === 'without statements'), [
        below,
        ...owner,
      ])
    : await sql.query<FoundId[]>(FIND_CHECKED(customerId !== null), [group, below, ...owner, limit + 1]);
  const found = rows.filter(({ is_found }) => Number(is_found) === 1).map(({ id }) => id);
  const ids = found.slice(0, limit);
  if (found.length > limit) return { ids, next: ids.at(-1) ?? below };
  return { ids, next: hasNoStatement && rows.length === LOOKED_AT ? (rows.at(-1)?.id ?? null) : null };
}

/** Indexes: the primary keys; statements_time, read backwards; movement_conflicts_account_status. */
const READ_ACCOUNTS = `
  SELECT a.id, a.customer_id, u.name AS customer, b.name AS bank, a.title, a.currency, a.iban, a.number,
    s.to_date AS newest_day, s.number AS newest_number,
    k.completeness, k.completeness = 'unknown' AND k.due_at IS NOT NULL AS is_due, k.late_since,
    (SELECT COUNT(*) FROM movement_conflicts c FORCE INDEX (movement_conflicts_account_status)
      WHERE c.account_id = a.id AND c.status = 'open') AS open_conflicts
  FROM accounts a FORCE INDEX (PRIMARY) STRAIGHT_JOIN customers u ON u.id = a.customer_id STRAIGHT_JOIN banks b ON b.id = a.bank_id
  LEFT JOIN statement_checks k ON k.account_id = a.id
  LEFT JOIN statements s ON s.id = (
    SELECT n.id FROM statements n FORCE INDEX (statements_time) WHERE n.account_id = a.id AND n.kind = 'final'
    ORDER BY n.account_id DESC, n.kind DESC, n.to_date DESC, n.id DESC LIMIT 1)
  WHERE a.id IN (?) AND a.status <> 'deleting'`;

/**
 * Finds accounts with the results of their statements: what is wrong first, in the order of `ACCOUNT_GROUPS`. A page may be shorter than
 * `limit`, because accounts that are being deleted are left out.
 * @param customerId null: the accounts of all customers.
 * @returns also where the next page begins; null: there is no next page.
 */
export async function findBookedAccounts(
  sql: Sql,
  { customerId, place }: { customerId: string | null; place: AccountPlace },
  limit: number,
): Promise<{ rows: BookedAccount[]; next: AccountPlace | null }> {
  const ids: string[] = [];
  let next: AccountPlace | null = null;
  for (const group of ACCOUNT_GROUPS.slice(ACCOUNT_GROUPS.indexOf(place.group))) {
    const below = group === place.group ? place.below : BEYOND_NEWEST;
    const found = await findIds(sql, { group, below }, customerId, limit - ids.length);
    ids.push(...found.ids);
    if (found.next === null) continue;
    next = { group, below: found.next };
    break;
  }
  if (ids.length === 0) return { rows: [], next };
  const rows = await sql.query<BookedAccount[]>(READ_ACCOUNTS, [ids]);
  const places = new Map(ids.map((id, index) => [id, index]));
  return {
    rows: rows.toSorted((one, other) => (places.get(one.id) ?? 0) - (places.get(other.id) ?? 0)),
    next,
  };
}

export const TONES: Record<Completeness | PeriodStatus, Tone> = {
  complete: 'good',
  incomplete: 'bad',
  contradictory: 'bad',
  gap: 'bad',
  contradiction: 'bad',
  overlap: 'warn',
  unknown: 'calm',
};

/** The columns of every table of accounts. */
export const accountColumns = (now: Date): Column<BookedAccount>[] => [
  { label: 'Account', cell: ({ id }) => <a href={`/ops/books/accounts/${id}`}>{id}</a> },
  customerColumn(),
  { label: 'Bank', cell: ({ bank }) => bank },
  { label: 'Title', kind: 'wide', cell: ({ title, currency }) => `${title}, ${currency}` },
  { label: 'IBAN or number', kind: 'wide', cell: ({ iban, number }) => iban ?? number ?? '–' },
  {
    label: 'Newest statement',
    cell: ({ newest_day: day, newest_number: number }) =>
      day === null ? '–' : number === null ? day : `${day}, number ${number}`,
  },
  {
    label: 'Statements are',
    cell: ({ completeness, is_due, late_since }) => (
      <>
        {completeness === null ? (
          '–'
        ) : Number(is_due) === 1 ? (
          <Tag tone="calm">not looked at yet</Tag>
        ) : (
          <Tag tone={TONES[completeness]}>{completeness}</Tag>
        )}
        {late_since === null ? null : (
          <>
            {' '}
            <Tag tone="warn">late</Tag> since <Moment at={late_since} now={now} />
          </>
        )}
      </>
    ),
  },
  { label: 'Open conflicts', kind: 'number', cell: (it) => formatCount(Number(it.open_conflicts)) },
];
