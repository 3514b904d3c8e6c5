import type { ValidationIssue } from '../validation.ts';

/** What has been removed from a customer's movements, as an import has read it before it checks its rows. */
export interface RemovedTime {
  /**
   * Grows when an account is to be deleted, and when `removedBefore` changes. If it is another one when the rows are stored, they
   * have to be checked again.
   */
  removals: number;
  /** Movements that were issued before this day (YYYY-MM-DD) have been removed; null: none have. */
  removedBefore: string | null;
}

/**
 * Whether a movement is of a time whose movements have been removed. It may have been stored and sent before, and nothing is left to
 * know it by. So it is rejected, and never stored and sent a second time.
 */
export const isOfRemovedTime = (
  { date_issue }: { date_issue: string },
  { removedBefore }: RemovedTime,
): boolean => removedBefore !== null && date_issue < removedBefore;

/** The validation issue of such a movement. */
export const removedTimeIssue = ({ removedBefore }: RemovedTime): ValidationIssue => ({
  path: 'date_issue',
  message: `is before ${removedBefore}: the movements of that time have been removed, so a repeated one would not be recognised`,
});
