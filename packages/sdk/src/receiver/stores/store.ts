/** The right to process a notification. One of the two is called, once. */
export interface Claim {
  /** The notification is processed: duplicates of it are known from now on. */
  complete(): Promise<void>;
  /** The notification was not processed: its next attempt can claim it. */
  release(): Promise<void>;
}

/** Remembers which notifications are processed, by `webhook-id`. */
export interface DeduplicationStore {
  /**
   * Claims a notification. Of several calls at the same time, one gets the claim.
   * @returns the claim; `done`: it is processed; `busy`: another call has the claim.
   * @throws when the store cannot be reached.
   */
  claim(id: string): Promise<Claim | 'done' | 'busy'>;
}

/** How long an id is kept: 14 days, in seconds. Retries take four days at most, replays as long as you want. */
export const RETENTION_SECONDS = 14 * 86_400;

/** After how many seconds a claim is free again whose process has ended without completing or releasing it. */
export const LEASE_SECONDS = 60;
