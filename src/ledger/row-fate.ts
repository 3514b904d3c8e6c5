import { hash } from 'node:crypto';
import { canonical, isContentId, type Movement } from './movement.ts';

/** What becomes of a row of an import: whether it is stored, why, and how such rows are counted. Imports and dry runs decide it here. */

/**
 * Why a row counts as known:
 *
 * - `same`: the row has the unique id and the content of a stored movement, or it came in a statement and has the same reference or
 *   balance as the stored movement.
 * - `changed`: the row has the unique id of a stored movement, but another text or balance; or it came in a statement and has
 *   another day, balance or text than the stored movement.
 * - `assumed`: nothing tells the row apart from a stored movement, but nothing proves that they are the same.
 * - `conflict`: the row has the unique id of a stored movement, but another direction, amount or date.
 */
export const DUPLICATE_REASONS = ['same', 'changed', 'assumed', 'conflict'] as const;
export type DuplicateReason = (typeof DUPLICATE_REASONS)[number];
/** Why a row is listed. `assumed_new`: it was stored, although it may be a stored movement. */
export const LISTED_REASONS = [...DUPLICATE_REASONS, 'assumed_new'] as const;
type ListedReason = (typeof LISTED_REASONS)[number];

/** What becomes of a row. A row without a fate is new. */
export interface RowFate {
  reason: ListedReason;
  /** A movement is stored from it. */
  isStored: boolean;
  /** A conflict that waits for a decision. */
  isHeld: boolean;
}

/** The counts of an import's rows. */
export interface RowCounts {
  inserted: number;
  duplicates: number;
  /** Duplicates with the reason `changed`. */
  changed: number;
  assumed: number;
  /** Inserted movements that may be known. */
  assumedNew: number;
  /** Conflicts that wait for a decision, and conflicts that were stored. */
  conflicts: number;
}

/** @param rows the number of rows. @param fates of those that are not simply new. */
export function countRows(rows: number, fates: readonly RowFate[]): RowCounts {
  const count = (reason: ListedReason) => fates.filter((it) => it.reason === reason).length;
  const notStored = fates.filter(({ isStored }) => !isStored);
  return {
    inserted: rows - notStored.length,
    duplicates: notStored.filter(({ isHeld }) => !isHeld).length,
    changed: count('changed'),
    assumed: count('assumed'),
    assumedNew: count('assumed_new'),
    conflicts: count('conflict'),
  };
}

/** A row that is taken for a movement which is stored, or which comes earlier in the file. */
export const knownRow = (reason: Exclude<DuplicateReason, 'conflict'>): RowFate => ({
  reason,
  isStored: false,
  isHeld: false,
});

/** A row that is stored although it may be known. */
export const ASSUMED_NEW: RowFate = { reason: 'assumed_new', isStored: true, isHeld: false };

type Content = Omit<Movement, 'account_id' | 'unique_id'>;

/** What is compared of two rows with the same unique id. Rows with different versions conflict. `texts` is a hash. */
export interface Compared {
  version: string;
  texts: string;
}

export const comparedOf = (movement: Content): Compared => ({
  version: versionOf(movement),
  texts: textsOf(movement),
});

export const versionOf = ({
  dc,
  amount,
  date_issue,
}: Pick<Movement, 'dc' | 'amount' | 'date_issue'>): string => `${dc} ${canonical(amount)} ${date_issue}`;

const textsOf = ({ name, code, balance, description, opponent_id, opponent_iban }: Content): string =>
  hash(
    'md5',
    JSON.stringify([name, code, canonical(balance), description, opponent_id, opponent_iban]),
    'base64',
  );

/** Says how a row differs from the movement, stored or earlier in the file, that has its unique id. */
export function compareWith(
  { movement, uniqueId }: { movement: Movement; uniqueId: string },
  other: Compared,
): DuplicateReason {
  const own = comparedOf(movement);
  if (own.version !== other.version) return 'conflict';
  if (isContentId(movement, uniqueId)) return 'assumed';
  return own.texts === other.texts ? 'same' : 'changed';
}

/** What an account or a source wants: somebody decides, or the row is stored under its own id. */
export type OnConflict = 'hold' | 'store';

/** A conflict as it is kept. */
export interface KeptConflict {
  status: string;
  stored_id: string | null;
}

/**
 * Creates a function that decides conflicts in the order of their rows. `version` names the movement, and the row's direction,
 * amount and date. `storedId`: the movement that was stored from the row. Null: the row counts as the movement that was stored
 * first.
 */
export function createConflictDecisions() {
  const isNew = new Set<string>();
  return (
    version: string,
    kept: KeptConflict | undefined,
    policy: OnConflict,
  ): { outcome: 'held' } | { outcome: 'new' } | { outcome: 'known'; storedId: string | null } => {
    if (kept?.status === 'stored' && kept.stored_id !== null)
      return { outcome: 'known', storedId: kept.stored_id };
    if (kept?.status === 'ignored' || isNew.has(version)) return { outcome: 'known', storedId: null };
    if (policy === 'hold') return { outcome: 'held' };
    isNew.add(version);
    return { outcome: 'new' };
  };
}

/** The fate of a conflicting row after the decision about it. */
export const conflictingRow = ({ outcome }: { outcome: 'held' | 'new' | 'known' }): RowFate =>
  outcome === 'known'
    ? knownRow('same')
    : { reason: 'conflict', isStored: outcome === 'new', isHeld: outcome === 'held' };
