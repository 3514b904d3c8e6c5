/** The formats of statement files, by name. */

export const STATEMENT_FORMATS = ['mt940', 'mt942', 'camt', 'ofx', 'csv', 'xlsx', 'bai2'] as const;

export type StatementFormat = (typeof STATEMENT_FORMATS)[number];

export const isStatementFormat = (name: string): name is StatementFormat =>
  (STATEMENT_FORMATS as readonly string[]).includes(name);
