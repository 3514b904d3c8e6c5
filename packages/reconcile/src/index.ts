export {
  type EntryDecision,
  findKnownEntries,
  type KnownEntries,
  type StoredEntry,
} from './find-known-entries.ts';
export {
  findStatementPeriods,
  type StatementPeriod,
  type StatementPeriods,
} from './find-statement-periods.ts';
export type { Completeness, PeriodStatus } from './periods.ts';
export type { Balance, Entry, Statement } from './plain-statement.ts';
export { relateStatements, type StatementRelation } from './relate-statements.ts';
