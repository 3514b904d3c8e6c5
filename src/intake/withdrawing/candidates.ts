import type { Sql } from '../../database/transaction.ts';
import { findIdRange, findImportInterval, type IdRange } from '../../movements/listing.ts';

/** Finds the movements that a withdrawal may take back, a part at a time. */

/** The import or the statement that is withdrawn. */
export interface Subject {
  customerId: string;
  importId: string;
  /** null: the whole import. */
  statementId: string | null;
}

/**
 * How far a withdrawal has come. `own`: the movements that its import or statement has brought. Then those that it has only confirmed, and
 * whose own import or statement was withdrawn before: `repeated` as entries of its statements, `duplicates` as rows of JSON. Everything
 * up to the movement `after` has been looked at. statement: of `repeated`.
 */
export interface Position {
  phase: 'own' | 'repeated' | 'duplicates';
  statement: string;
  after: string;
}

export const BEGINNING: Position = { phase: 'own', statement: '0', after: '0' };

/** Movements to decide, in the order of their ids. */
export interface Candidates {
  ids: string[];
  /** Entries of the withdrawn statements that were looked at. They confirm nothing any more. */
  repeated: RepeatedEntry[];
  /** null: there are no more. */
  next: Position | null;
}

interface RepeatedEntry {
  statement_id: string;
  transaction_id: string;
}

/**
 * Reads the candidates after a position. A part may have none, although there are more.
 * @param most candidates, of thousands of movements that are read.
 */
export function readCandidates(
  sql: Sql,
  subject: Subject,
  position: Position,
  most: number,
): Promise<Candidates> {
  const read = { own: readOwn, repeated: readRepeated, duplicates: readDuplicates }[position.phase];
  return read(sql, subject, position, most);
}

/** The most movements that are read for one part. Between those of an import there may be some of others. */
const MOST_READ = 5_000;

/** Indexes: transactions_customer_page, and the primary keys. */
const READ_OWN = `
  SELECT STRAIGHT_JOIN s.id, t.import_id = ? AND (? IS NULL OR d.statement_id = ?) AS is_own
  FROM (SELECT id FROM transactions FORCE INDEX (transactions_customer_page)
    WHERE customer_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ${MOST_READ}) s
  JOIN transactions t ON t.id = s.id LEFT JOIN transaction_details d ON d.transaction_id = t.id
  ORDER BY s.id`;

/** Finds the ids between which the movements of an import or a statement are. Retention may have removed the import of a statement. */
export async function readBounds(sql: Sql, { customerId, importId }: Subject): Promise<IdRange | null> {
  const interval = await findImportInterval(sql, customerId, importId);
  const all = { customerId, accountIds: 'all', after: null, cursor: null } as const;
  return findIdRange(sql, { ...all, import: interval ?? undefined });
}

async function readOwn(sql: Sql, subject: Subject, { after }: Position, most: number): Promise<Candidates> {
  const { customerId, importId, statementId } = subject;
  const bounds = await readBounds(sql, subject);
  const next: Position = { phase: 'repeated', statement: '0', after: '0' };
  if (bounds === null) return { ids: [], repeated: [], next };
  const { first, last } = bounds;
  const from = BigInt(first) > BigInt(after) ? String(BigInt(first) - 1n) : after;
  const values = [importId, statementId, statementId, customerId, from, last];
  const rows = await sql.query<{ id: string; is_own: number | string | null }[]>(READ_OWN, values);
  const own = rows.filter(({ is_own }) => Number(is_own) === 1).map(({ id }) => id);
  const ids = own.slice(0, most);
  const reached = own.length > most ? ids.at(-1) : rows.length === MOST_READ ? rows.at(-1)?.id : undefined;
  return {
    ids,
    repeated: [],
    next: reached === undefined ? next : { phase: 'own', statement: '0', after: reached },
  };
}

/** Whether a movement `t`, with the details `d`, has come with another import or statement, which was withdrawn before. */
const OWN_IS_WITHDRAWN = `(t.import_id <> ? OR d.statement_id <> ?) AND (
  EXISTS (SELECT 1 FROM withdrawals o WHERE o.import_id = t.import_id AND o.statement_id = 0)
  OR EXISTS (SELECT 1 FROM withdrawn_statements o WHERE o.id = d.statement_id))`;

/** Indexes: statements_import and withdrawn_statements_import. */
const READ_STATEMENTS = `
  SELECT id FROM statements WHERE import_id = ? UNION SELECT id FROM withdrawn_statements WHERE import_id = ? ORDER BY id`;

/** Index: the primary keys. */
const READ_REPEATED = (condition: string) => `
  SELECT r.statement_id, r.transaction_id, ${OWN_IS_WITHDRAWN} AS is_orphan
  FROM repeated_entries r FORCE INDEX (PRIMARY) STRAIGHT_JOIN transactions t ON t.id = r.transaction_id
    LEFT JOIN transaction_details d ON d.transaction_id = t.id
  WHERE ${condition} ORDER BY r.statement_id, r.transaction_id LIMIT ?`;

/** Reads the rest of the statement at the position, or else the beginning of the statements after it. */
async function readRepeated(
  sql: Sql,
  { importId, statementId }: Subject,
  { statement, after }: Position,
  most: number,
): Promise<Candidates> {
  const statements =
    statementId === null
      ? (await sql.query<{ id: string }[]>(READ_STATEMENTS, [importId, importId])).map(({ id }) => id)
      : [statementId];
  const later = statements.filter((id) => BigInt(id) > BigInt(statement));
  const read = async (condition: string, values: unknown[]) =>
    sql.query<(RepeatedEntry & { is_orphan: number | string })[]>(READ_REPEATED(condition), [
      importId,
      statementId,
      ...values,
      most,
    ]);
  const rest =
    statement === '0' ? [] : await read('r.statement_id = ? AND r.transaction_id > ?', [statement, after]);
  const rows = rest.length > 0 || later.length === 0 ? rest : await read('r.statement_id IN (?)', [later]);
  const last = rows.at(-1);
  return {
    ids: rows.filter(({ is_orphan }) => Number(is_orphan) === 1).map((it) => it.transaction_id),
    repeated: rows.map(({ statement_id, transaction_id }) => ({ statement_id, transaction_id })),
    next:
      last === undefined
        ? { phase: 'duplicates', statement: '0', after: '0' }
        : { phase: 'repeated', statement: last.statement_id, after: last.transaction_id },
  };
}

/** At most 10,000 rows of an import are listed. Indexes: import_duplicates_import, and the primary keys. */
const READ_DUPLICATES = `
  SELECT DISTINCT u.transaction_id AS id
  FROM import_duplicates u FORCE INDEX (import_duplicates_import) STRAIGHT_JOIN imports i ON i.id = u.import_id AND i.format IN ('json', 'ndjson')
    STRAIGHT_JOIN transactions t ON t.id = u.transaction_id LEFT JOIN transaction_details d ON d.transaction_id = t.id
  WHERE u.import_id = ? AND u.reason IN ('same', 'changed', 'assumed') AND u.transaction_id > ? AND ${OWN_IS_WITHDRAWN}
  ORDER BY id LIMIT ?`;

async function readDuplicates(
  sql: Sql,
  { importId, statementId }: Subject,
  { after }: Position,
  most: number,
): Promise<Candidates> {
  if (statementId !== null) return { ids: [], repeated: [], next: null };
  const rows = await sql.query<{ id: string }[]>(READ_DUPLICATES, [
    importId,
    after,
    importId,
    statementId,
    most,
  ]);
  const ids = rows.map(({ id }) => id);
  const last = ids.at(-1);
  return {
    ids,
    repeated: [],
    next:
      last === undefined || ids.length < most ? null : { phase: 'duplicates', statement: '0', after: last },
  };
}
