import type { Sql } from '../database/transaction.ts';
import { MOST_COUNTED } from './withdrawal-plan-view.ts';
import {
  BEGINNING,
  type Candidates,
  type Position,
  readCandidates,
  type Subject,
} from './withdrawing/candidates.ts';
import { findUnlisted } from './withdrawing/confirmed.ts';
import { decide } from './withdrawing/withdraw-part.ts';

/** Says what a withdrawal would do. Nothing is changed. */

/** The counts of a dry run of a withdrawal. */
export interface WithdrawalPlan {
  withdrawn: number;
  kept: number;
  /** false: there are more movements than were counted. */
  isWhole: boolean;
  /** An import that may have confirmed movements, because not all of its rows are listed. Nothing is withdrawn then. */
  unlistedImportId: string | null;
  /** The statements that would not count any more. */
  statements: { id: string; accountId: string }[];
}

/** Candidates are read in parts of this size. */
const PART = 1_000;

/** Indexes: the primary key, and statements_import. */
const READ_STATEMENTS = (column: 'id' | 'import_id') =>
  `SELECT id, account_id AS accountId FROM statements WHERE ${column} = ? ORDER BY id LIMIT 10000`;

/** Counts what a withdrawal would take back. */
export async function planWithdrawal(sql: Sql, subject: Subject): Promise<WithdrawalPlan> {
  const { importId, statementId } = subject;
  const plan = { withdrawn: 0, kept: 0 };
  let position: Position | null = BEGINNING;
  while (position !== null && plan.withdrawn + plan.kept < MOST_COUNTED) {
    const candidates: Candidates = await readCandidates(sql, subject, position, PART);
    const { gone, kept } = await decide(sql, subject, candidates);
    plan.withdrawn += gone.length;
    plan.kept += kept;
    position = candidates.next;
  }
  return {
    ...plan,
    isWhole: position === null,
    unlistedImportId: await findUnlisted(sql, subject),
    statements: await sql.query<WithdrawalPlan['statements']>(
      READ_STATEMENTS(statementId === null ? 'import_id' : 'id'),
      [statementId ?? importId],
    ),
  };
}

/** A movement of a plan. */
interface PlannedMovement {
  id: string;
  isWithdrawn: boolean;
}

/**
 * Reads a page of the movements that a withdrawal would decide.
 * @param cursor as a page before has returned it; null: the first page.
 * @returns next: null on the last page.
 */
export async function readPlanPage(
  sql: Sql,
  subject: Subject,
  cursor: string | null,
  perPage: number,
): Promise<{ movements: PlannedMovement[]; next: string | null }> {
  let position: Position | null = cursor === null ? BEGINNING : toPosition(cursor);
  const movements: PlannedMovement[] = [];
  while (position !== null && movements.length < perPage) {
    const candidates: Candidates = await readCandidates(sql, subject, position, perPage - movements.length);
    const gone = new Set((await decide(sql, subject, candidates)).gone);
    movements.push(...candidates.ids.map((id) => ({ id, isWithdrawn: gone.has(id) })));
    position = candidates.next;
  }
  return {
    movements,
    next: position === null ? null : `${position.phase}.${position.statement}.${position.after}`,
  };
}

/** The pattern of the cursors of these pages. */
export const PLAN_CURSOR = /^(?:own|repeated|duplicates)\.\d{1,19}\.\d{1,19}$/;

function toPosition(cursor: string): Position {
  const [phase, statement = '0', after = '0'] = cursor.split('.');
  return { phase: phase as Position['phase'], statement, after };
}
