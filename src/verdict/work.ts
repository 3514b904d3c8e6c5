import { showAmount } from '../../packages/statements/src/amounts.ts';
import type { ProcessSeen } from '../database/processes.ts';
import type { Sql } from '../database/transaction.ts';
import { MAX_CRASHES } from '../intake/imports.ts';
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

/** Index: imports_status. */
const READ_FAILED_IMPORTS = `
  SELECT i.id, c.name AS customer, i.error, i.crash_count, i.finished_at
  FROM imports i FORCE INDEX (imports_status) JOIN customers c ON c.id = i.customer_id
  WHERE i.status = 'failed' AND i.crash_count >= ? AND i.crash_count <= ? AND (? OR i.finished_at > NOW(6) - INTERVAL 1 DAY)
  ORDER BY i.id DESC LIMIT ?`;

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
  const named = async (kind: 'import_given_up' | 'import_failed', count: number): Promise<Trouble[]> => {
    if (count === 0) return [];
    const isGivenUp = kind === 'import_given_up';
    const range = isGivenUp ? [MAX_CRASHES, 255, true] : [0, MAX_CRASHES - 1, false];
    const found = await sql.query<FailedImport[]>(READ_FAILED_IMPORTS, [...range, most]);
    const troubles = found.map((it) =>
      troubleOf(kind, {
        subject: { type: 'import', id: it.id, title: '', customer: it.customer },
        since: it.finished_at,
        sentence: `Import ${it.id} of ${it.customer} ${isGivenUp ? 'was given up' : 'has failed'}. ${endSentence(it.error ?? '')}`,
        page: { text: `Import ${it.id}`, href: `/ops/imports/${it.id}` },
      }),
    );
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

/** Active sources with an error. Sources whose runs fail come first, the most failures on top. Index: sources_status. */
const READ_SOURCES_WITH_ERROR = `
  SELECT ${SUMMARY_COLUMNS} FROM sources s FORCE INDEX (sources_status) STRAIGHT_JOIN customers u ON u.id = s.customer_id
  WHERE s.status = 'active' AND s.error IS NOT NULL AND s.consecutive_failures > 0 = ?
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

/** Reads the troubles of the first sources of each kind. */
export async function nameSourceTroubles(sql: Sql, most: number): Promise<Trouble[]> {
  const failing = await sql.query<SourceSummary[]>(READ_SOURCES_WITH_ERROR, [true, most]);
  const wrong = await sql.query<SourceSummary[]>(READ_SOURCES_WITH_ERROR, [false, most]);
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

/** Indexes: movement_conflicts_status, and the primary key. */
const READ_OPEN_CONFLICTS = `
  SELECT a.currency, SUM(c.amount) AS amount, MIN(c.received_at) AS oldest
  FROM movement_conflicts c JOIN accounts a ON a.id = c.account_id WHERE c.status = 'open' GROUP BY a.currency`;

const BOOKS = { text: 'Books', href: '/ops/books' };

interface WrongAccount {
  id: string;
  title: string;
  customer: string;
  completeness: 'incomplete' | 'contradictory';
  late_since: Date | null;
}

const accountsWhere = (condition: string) => `
  SELECT k.account_id AS id, a.title, c.name AS customer, k.completeness, k.late_since
  FROM statement_checks k JOIN accounts a ON a.id = k.account_id JOIN customers c ON c.id = k.customer_id
  WHERE ${condition} ORDER BY k.account_id LIMIT ?`;

/** Index: statement_checks_result. */
const WRONG_STATEMENTS = accountsWhere("k.completeness IN ('incomplete', 'contradictory')");

/** Index: statement_checks_late. */
const LATE_STATEMENTS = accountsWhere('k.late_since IS NOT NULL');

function accountTroubleOf(kind: 'statements_wrong' | 'statements_late', it: WrongAccount): Trouble {
  const { id, title, customer } = it;
  const isLate = kind === 'statements_late';
  const wrong =
    it.completeness === 'incomplete' ? 'lacks a statement' : 'has statements that contradict each other';
  return troubleOf(kind, {
    subject: { type: 'account', id, title, customer },
    since: isLate ? it.late_since : null,
    sentence: `${customer}: account ${id} “${title}” ${isLate ? 'waits for a late statement' : wrong}.`,
    ...(isLate ? {} : { help: `Ask the bank for it. Which days: ledgerbell verify --account ${id}` }),
    page: { text: `Books of account ${id}`, href: `/ops/books/accounts/${id}` },
  });
}

/** Conflicts that wait for a decision, and accounts whose statements are missing or late. @param most how many accounts of each kind are named. */
export async function findBookTroubles(
  sql: Sql,
  { openConflicts, statements }: Pick<Figures, 'openConflicts' | 'statements'>,
  most: number,
): Promise<Trouble[]> {
  const named = async (kind: 'statements_wrong' | 'statements_late', count: number): Promise<Trouble[]> => {
    if (count === 0) return [];
    const statement = kind === 'statements_wrong' ? WRONG_STATEMENTS : LATE_STATEMENTS;
    const accounts = await sql.query<WrongAccount[]>(statement, [most]);
    const troubles = accounts.map((it) => accountTroubleOf(kind, it));
    return [...troubles, ...othersOf(kind, count - troubles.length, BOOKS)];
  };
  const conflicts =
    openConflicts === 0
      ? []
      : await sql.query<{ currency: string; amount: string; oldest: Date }[]>(READ_OPEN_CONFLICTS);
  const money = conflicts.map(({ currency, amount }) => ({ currency, amount: showAmount(amount, currency) }));
  const oldest = conflicts.map((it) => it.oldest).toSorted((one, other) => one.getTime() - other.getTime());
  return [
    ...(conflicts.length === 0
      ? []
      : [
          troubleOf('conflicts_open', {
            count: openConflicts,
            since: oldest[0] ?? null,
            money,
            sentence: `${wordsOf('conflicts_open', openConflicts)}: a known movement came with another amount, direction or date. Not stored: ${money.map((it) => `${it.amount} ${it.currency}`).join(', ')}.`,
            page: BOOKS,
          }),
        ]),
    ...(await named('statements_wrong', statements.incomplete + statements.contradictory)),
    ...(await named('statements_late', statements.late)),
  ];
}
