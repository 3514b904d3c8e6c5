import type { SourceSchedule } from './source-schedule.ts';

/** A source as a run needs it. */
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
  revision: number;
  position: string | null;
  /** Failed runs in a row before this one. */
  failures: number;
}
