import { showAmount } from '../../packages/statements/src/amounts.ts';
import type { ProcessSeen } from '../database/processes.ts';
import type { Sql } from '../database/transaction.ts';
import { MAX_CRASHES } from '../intake/failed-imports.ts';
import { STUCK_IMPORTS } from '../intake/stuck-imports.ts';
import { formatDuration, timesInARow } from '../platform/text.ts';
import { type SourceSummary, SUMMARY_COLUMNS } from '../sources/find-source.ts';
import { countRunning } from './servers.ts';
import type { Figures } from './state/figures.ts';
import { othersOf, type Trouble, troubleOf, wordsOf } from './trouble.ts';
import { endSentence } from './webhooks.ts';

/** What is wrong with imports, sources and books. */

/** With this many imports in the queue, somebody should look, even if each of them is stored in the end. */
const MANY_QUEUED = 1_000;

interface FailedImport {
  id: string;
  customer: string;
  error: string | null;
  crash_count: number;
  finished_at: Date | null;
}

/** A customer whose troubles are looked for. null: all customers. */
type Owner = string | null;

/** The condition on the customer in a statement about one customer. */
const ofOwner = (owner: Owner, column: string) => (owner === null ? '' : `AND ${column} = ?`);

/** The value of that condition. */
const valuesOf = (owner: Owner) => (owner === null ? [] : [owner]);

/** A list of the console, filtered on the customer. */
const filtered = ({ text, href }: Trouble['page'], owner: Owner): Trouble['page'] => ({
  text,
  href: owner === null ? href : `${href}?customer=${owner}`,
});

/** Indexes: imports_status; of a customer imports_customer_status. */
const READ_FAILED_IMPORTS = (owner: Owner) => `
  SELECT i.id, c.name AS customer, i.error, i.crash_count, i.finished_at
  FROM imports i FORCE INDEX (${owner === null ? 'imports_status' : 'imports_customer_status'}) JOIN customers c ON c.id = i.customer_id
  WHERE i.status = 'failed' ${ofOwner(owner, 'i.customer_id')} AND i.crash_count >= ? AND i.crash_count <= ?
    AND (? OR i.finished_at > NOW(6) - INTERVAL 1 DAY)
  ORDER BY i.id DESC LIMIT ?`;

type ImportTrouble = 'import_given_up' | 'import_failed';

/** Names the newest imports that were given up, or that failed within the last day. */
async function nameImports(
  sql: Sql,
  kind: ImportTrouble,
  most: number,
  owner: Owner = null,
): Promise<Trouble[]> {
  const isGivenUp = kind === 'import_given_up';
  const range = isGivenUp ? [MAX_CRASHES, 255, true] : [0, MAX_CRASHES - 1, false];
  const found = await sql.query<FailedImport[]>(READ_FAILED_IMPORTS(owner), [
    ...valuesOf(owner),
    ...range,
    most,
  ]);
  return found.map((it) =>
    troubleOf(kind, {
      subject: { type: 'import', id: it.id, title: '', customer: it.customer },
      since: it.finished_at,
      sentence: `Import ${it.id} of ${it.customer} ${isGivenUp ? 'was given up' : 'has failed'}. ${endSentence(it.error ?? '')}`,
      page: { text: `Import ${it.id}`, href: `/ops/imports/${it.id}` },
    }),
  );
}

const IMPORTS = { text: 'Imports', href: '/ops/imports' };
const FAILED_IMPORTS = { text: 'Failed imports', href: '/ops/imports?status=failed' };

/** A file that cannot be read is no trouble after a day, because its sender must correct it. @param most how many of each kind are named. */
export async function findImportTroubles(
  sql: Sql,
  figures: Figures,
  processes: readonly ProcessSeen[],
  most: number,
): Promise<Trouble[]> {
  const { imports, importsStuck, importsGivenUp, importsFailedLately, oldestImport } = figures;
  const named = async (kind: ImportTrouble, count: number): Promise<Trouble[]> => {
    if (count === 0) return [];
    const troubles = await nameImports(sql, kind, most);
    return [...troubles, ...othersOf(kind, count - troubles.length, FAILED_IMPORTS)];
  };
  const oldest = oldestImport === 0 ? null : new Date(Date.now() - oldestImport * 1_000);
  return [
    // If there is no importer, another trouble says that.
    ...(importsStuck === 0 || countRunning(processes, 'importer') === 0
      ? []
      : [troubleOf('import_stuck', { count: importsStuck, oldest, page: IMPORTS })]),
    ...(await named('import_given_up', importsGivenUp)),
    ...(await named('import_failed', importsFailedLately)),
    ...(imports.queued < MANY_QUEUED
      ? []
      : [
          troubleOf('imports_queued', {
            count: imports.queued,
            since: oldest,
            oldest,
            sentence: `${wordsOf('imports_queued', imports.queued)}. The oldest was received ${formatDuration(oldestImport * 1_000)} ago.`,
            page: IMPORTS,
          }),
        ]),
  ];
}

/** Active sources with an error. Sources whose runs fail come first, the most failures on top. Indexes: sources_status; of a customer sources_page. */
const READ_SOURCES_WITH_ERROR = (owner: Owner) => `
  SELECT ${SUMMARY_COLUMNS}
  FROM sources s FORCE INDEX (${owner === null ? 'sources_status' : 'sources_page'}) STRAIGHT_JOIN customers u ON u.id = s.customer_id
  WHERE s.status = 'active' ${ofOwner(owner, 's.customer_id')} AND s.error IS NOT NULL AND s.consecutive_failures > 0 = ?
  ORDER BY s.consecutive_failures DESC, s.id LIMIT ?`;

const SOURCE_LIST = { text: 'Sources', href: '/ops/sources' };

/** Sources whose runs fail, and sources with a file that could not be imported. @param most how many of each kind are named. */
export async function findSourceTroubles(
  sql: Sql,
  { sources }: Pick<Figures, 'sources'>,
  most: number,
): Promise<Trouble[]> {
  const named = sources.failing + sources.withWrongFile === 0 ? [] : await nameSourceTroubles(sql, most);
  const more = (kind: 'source_failing' | 'source_wrong_file', count: number) =>
    othersOf(kind, count - named.filter((it) => it.kind === kind).length, SOURCE_LIST);
  return [
    ...named,
    ...more('source_failing', sources.failing),
    ...more('source_wrong_file', sources.withWrongFile),
  ];
}

/** Reads the troubles of the first sources of each kind. @param owner null: the sources of all customers. */
export async function nameSourceTroubles(sql: Sql, most: number, owner: Owner = null): Promise<Trouble[]> {
  const find = (isFailing: boolean) =>
    sql.query<SourceSummary[]>(READ_SOURCES_WITH_ERROR(owner), [...valuesOf(owner), isFailing, most]);
  const [failing, wrong] = [await find(true), await find(false)];
  return Promise.all([...failing, ...wrong].map((it) => sourceTroubleOf(sql, it)));
}

/** Index of both parts: source_runs_page. */
const FAILING_SINCE = `
  SELECT r.started_at FROM source_runs r FORCE INDEX (source_runs_page)
  WHERE r.source_id = ? AND r.status = 'failed' AND r.id > COALESCE(
    (SELECT MAX(d.id) FROM source_runs d FORCE INDEX (source_runs_page) WHERE d.source_id = ? AND d.status = 'done'), 0)
  ORDER BY r.id LIMIT 1`;

/** The trouble of an active source with an error. It fails since the first failed run after its last `done` run. */
export async function sourceTroubleOf(sql: Sql, it: SourceSummary): Promise<Trouble> {
  const { id, title, customer, error, consecutive_failures: failures } = it;
  const [run] = failures > 0 ? await sql.query<{ started_at: Date }[]>(FAILING_SINCE, [id, id]) : [];
  const what =
    failures > 0
      ? `has failed ${timesInARow(failures)}${run === undefined ? '' : `, for ${formatDuration(Date.now() - run.started_at.getTime())}`}. Last error: ${error}`
      : `has brought a file that could not be imported, or not all of it. ${error}`;
  return troubleOf(failures > 0 ? 'source_failing' : 'source_wrong_file', {
    subject: { type: 'source', id, title, customer },
    since: run?.started_at ?? it.last_run_at,
    sentence: `${customer}: source ${id} “${title}” ${what}`,
    page: { text: `Source ${id}`, href: `/ops/sources/${id}` },
  });
}

/** Indexes: movement_conflicts_status, of a customer movement_conflicts_page_status, and the primary key. */
const READ_OPEN_CONFLICTS = (owner: Owner) => `
  SELECT a.currency, COUNT(*) AS number, SUM(c.amount) AS amount, MIN(c.received_at) AS oldest
  FROM movement_conflicts c FORCE INDEX (${owner === null ? 'movement_conflicts_status' : 'movement_conflicts_page_status'})
    JOIN accounts a ON a.id = c.account_id
  WHERE c.status = 'open' ${ofOwner(owner, 'c.customer_id')} GROUP BY a.currency`;

const BOOKS = { text: 'Books', href: '/ops/books' };

interface WrongAccount {
  id: string;
  title: string;
  customer: string;
  completeness: 'incomplete' | 'contradictory';
  late_since: Date | null;
}

type AccountTrouble = 'statements_wrong' | 'statements_late';

/** Indexes: statement_checks_result and statement_checks_late; of a customer statement_checks_customer. */
const READ_WRONG_ACCOUNTS = (kind: AccountTrouble, owner: Owner) => `
  SELECT k.account_id AS id, a.title, c.name AS customer, k.completeness, k.late_since
  FROM statement_checks k ${owner === null ? '' : 'FORCE INDEX (statement_checks_customer)'}
    JOIN accounts a ON a.id = k.account_id JOIN customers c ON c.id = k.customer_id
  WHERE ${kind === 'statements_wrong' ? "k.completeness IN ('incomplete', 'contradictory')" : 'k.late_since IS NOT NULL'}
    ${ofOwner(owner, 'k.customer_id')} ORDER BY k.account_id LIMIT ?`;

async function nameAccounts(
  sql: Sql,
  kind: AccountTrouble,
  most: number,
  owner: Owner = null,
): Promise<Trouble[]> {
  const found = await sql.query<WrongAccount[]>(READ_WRONG_ACCOUNTS(kind, owner), [...valuesOf(owner), most]);
  return found.map((it) => accountTroubleOf(kind, it));
}

function accountTroubleOf(kind: AccountTrouble, it: WrongAccount): Trouble {
  const { id, title, customer } = it;
  const isLate = kind === 'statements_late';
  const [wrong, question] =
    it.completeness === 'incomplete'
      ? ['lacks a statement', 'Ask the bank for it.']
      : ['has statements that contradict each other', 'Ask the bank which of them is right.'];
  return troubleOf(kind, {
    subject: { type: 'account', id, title, customer },
    since: isLate ? it.late_since : null,
    sentence: `${customer}: account ${id} “${title}” ${isLate ? 'waits for a late statement' : wrong}.`,
    ...(isLate ? {} : { help: question }),
    page: { text: `Books of account ${id}`, href: `/ops/books/accounts/${id}` },
  });
}

/** One trouble for all open conflicts; none if there is none. */
async function findConflictTrouble(sql: Sql, owner: Owner = null): Promise<Trouble[]> {
  const conflicts = await sql.query<
    { currency: string; number: number | string; amount: string; oldest: Date }[]
  >(READ_OPEN_CONFLICTS(owner), valuesOf(owner));
  if (conflicts.length === 0) return [];
  const count = conflicts.reduce((sum, { number }) => sum + Number(number), 0);
  const money = conflicts.map(({ currency, amount }) => ({ currency, amount: showAmount(amount, currency) }));
  const oldest = conflicts.map((it) => it.oldest).toSorted((one, other) => one.getTime() - other.getTime());
  return [
    troubleOf('conflicts_open', {
      count,
      since: oldest[0] ?? null,
      money,
      sentence: `${wordsOf('conflicts_open', count)}: a known movement came with another amount, direction or date. Not stored: ${money.map((it) => `${it.amount} ${it.currency}`).join(', ')}.`,
      page: filtered(BOOKS, owner),
    }),
  ];
}

/** Conflicts that wait for a decision, and accounts whose statements are missing or late. @param most how many accounts of each kind are named. */
export async function findBookTroubles(
  sql: Sql,
  { openConflicts, statements }: Pick<Figures, 'openConflicts' | 'statements'>,
  most: number,
): Promise<Trouble[]> {
  const named = async (kind: AccountTrouble, count: number): Promise<Trouble[]> => {
    if (count === 0) return [];
    const troubles = await nameAccounts(sql, kind, most);
    return [...troubles, ...othersOf(kind, count - troubles.length, BOOKS)];
  };
  return [
    ...(openConflicts === 0 ? [] : await findConflictTrouble(sql)),
    ...(await named('statements_wrong', statements.incomplete + statements.contradictory)),
    ...(await named('statements_late', statements.late)),
  ];
}

/** Index: imports_customer_status. */
const COUNT_STUCK_IMPORTS = `SELECT COUNT(*) AS number FROM ${STUCK_IMPORTS} AND i.customer_id = ?`;

/**
 * Finds what is wrong with the imports, sources and books of one customer. `readWebhookTroubles` finds what is wrong with its webhooks.
 * @param most how many of each kind are named.
 */
export async function findCustomerTroubles(sql: Sql, customerId: string, most: number): Promise<Trouble[]> {
  const [stuck] = await sql.query<{ number: number | string }[]>(COUNT_STUCK_IMPORTS, [customerId]);
  const count = Number(stuck?.number ?? 0);
  const page = filtered(IMPORTS, customerId);
  return [
    ...(count === 0 ? [] : [troubleOf('import_stuck', { count, page })]),
    ...(await nameImports(sql, 'import_given_up', most, customerId)),
    ...(await nameImports(sql, 'import_failed', most, customerId)),
    ...(await nameSourceTroubles(sql, most, customerId)),
    ...(await findConflictTrouble(sql, customerId)),
    ...(await nameAccounts(sql, 'statements_wrong', most, customerId)),
    ...(await nameAccounts(sql, 'statements_late', most, customerId)),
  ];
}
