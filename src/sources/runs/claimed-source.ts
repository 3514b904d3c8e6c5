import type { SourceSchedule } from '../source-schedule.ts';

/** The data of a source that a run needs. */
export interface ClaimedSource {
  id: string;
  customerId: string;
  runId: string;
  kind: string;
  /** A JSON object. */
  settings: string;
  /** A JSON object, sealed. */
  credentials: string | null;
  schedule: SourceSchedule;
  accountId: string | null;
  format: string;
  profile: string | null;
  createAccounts: boolean;
  forceAccount: boolean;
  revision: number;
  position: string | null;
  /** Failed runs in a row before this one. */
  failures: number;
}

/** How long the lease of a run lasts unless its process renews it. */
const LEASE_SECONDS = 15;
export const LEASE = `NOW(6) + INTERVAL ${LEASE_SECONDS} SECOND`;

/** A lease that ends later than a new lease would was granted before the database's clock was set back. It does not count as held. */
export const LEASE_IS_HELD = `(s.lease_until >= NOW(6) AND s.lease_until <= NOW(6) + INTERVAL ${LEASE_SECONDS + 1} SECOND)`;
