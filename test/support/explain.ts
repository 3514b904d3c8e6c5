import type { Pool, PoolConnection } from 'mysql2';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/database/data-source.ts';
import type { Sql } from '../../src/database/transaction.ts';

/** How a statement is explained as a table. MySQL 9 explains as a tree by default. MariaDB knows tables only, and no name for them. */
export async function findExplain(sql: Sql): Promise<string> {
  const [hasFormats] = await sql.query<object[]>("SHOW VARIABLES LIKE 'explain_format'");
  return hasFormats === undefined ? 'EXPLAIN' : 'EXPLAIN FORMAT=TRADITIONAL';
}

/** A table that a statement reads, and how. */
export interface ExplainedStep {
  statement: string;
  select_type: string;
  table: string | null;
  type: string | null;
  key: string | null;
  Extra: string | null;
}

type Query = (
  statement: { sql: string },
  done: (error: Error | null, rows: ExplainedStep[]) => void,
) => unknown;

/**
 * Explains each statement of work that takes connections and begins transactions itself, right before it is run.
 * @param url of the database.
 */
export async function explainOwn<T>(
  url: string | undefined,
  work: (database: DataSource) => Promise<T>,
): Promise<{ result: T; steps: ExplainedStep[] }> {
  const database = createDataSource(url ?? '', { poolSize: 1 });
  await database.initialize();
  try {
    const explain = await findExplain(database);
    const steps: ExplainedStep[] = [];
    const explained = new WeakSet<PoolConnection>();
    const { pool } = database.driver as unknown as { pool: Pool };
    pool.on('acquire', (connection) => {
      if (explained.has(connection)) return;
      explained.add(connection);
      const query: Query = connection.query.bind(connection);
      const explainAndQuery: Query = (statement, done) => {
        if (!/^\s*(SELECT|UPDATE|DELETE)\b/.test(statement.sql)) return query(statement, done);
        return query({ ...statement, sql: `${explain} ${statement.sql}` }, (error, rows) => {
          if (error !== null) return done(error, []);
          steps.push(...rows.map((row) => ({ ...row, statement: statement.sql })));
          query(statement, done);
        });
      };
      Object.assign(connection, { query: explainAndQuery });
    });
    return { result: await work(database), steps };
  } finally {
    await database.destroy();
  }
}

/** MariaDB adds `filter` where it compares a range of one index with those of another. */
const INDEXED = /^(system|const|eq_ref|ref|range|unique_subquery|index_subquery)(\|filter)?$/;

/** A page of a table in the order of its primary key. If the whole table fits into a page, MySQL says `index` for it. */
const isPage = ({ statement, type, key }: ExplainedStep): boolean =>
  type === 'index' && key === 'PRIMARY' && /ORDER BY [\w.]+ LIMIT (\?|\d+)$/.test(statement);

/**
 * Finds the steps that read a whole table or index, or sort.
 * @param small tables with few rows, of which a whole one may be read.
 */
export const findScans = (
  steps: readonly ExplainedStep[],
  small: readonly string[] = [],
): readonly ExplainedStep[] =>
  steps.filter((step) => {
    const { table, type, key, Extra } = step;
    // The rows of a UNION or of a derived table, such as <union1,2>, were found by steps of their own.
    if (table === null || type === null || table.startsWith('<') || small.includes(table)) return false;
    const isIndexed = INDEXED.test(type) || isPage(step);
    // An UPDATE of a column of the index that it walks collects the rows first.
    const sorts = step.select_type === 'UPDATE' ? /filesort/ : /filesort|temporary/;
    return !isIndexed || key === null || sorts.test(Extra ?? '');
  });
