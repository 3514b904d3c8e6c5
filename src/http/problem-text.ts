import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** A kind of error, in words for the people who write clients. */
export interface ProblemText {
  status: ContentfulStatusCode;
  /** The same for every occurrence (RFC 9457, section 3.1.3). */
  title: string;
  /** What happened. */
  cause: string;
  /** What the client can do. */
  remedy: string;
  /** Whether the same request can succeed later. */
  retry: string;
}

export const NOT_UNCHANGED = 'No. The same request fails again.';
export const AFTER_RETRY_AFTER = 'Yes, after the seconds in Retry-After.';
