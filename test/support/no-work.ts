import type { Totals } from '../../src/console/totals.ts';

/** The totals of an installation in which nothing is to be done. */
export const NO_WORK: Totals = {
  pending: 0,
  held: 0,
  toCome: 0,
  circuitsOpen: 0,
  failing: 0,
  needingAttention: 0,
  quarantined: 0,
  imports: { queued: 0, running: 0, failed: 0 },
  importsGivenUp: 0,
  importsFailedLately: 0,
  importsStuck: 0,
};
