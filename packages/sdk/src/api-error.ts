import type { Problem } from './generated/types.gen.ts';
import { retryAfter } from './retry-after.ts';

/** The API has refused a request, RFC 9457. `type` says which error it is: `/problems/invalid` and so on. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  /** Such as `/problems/invalid`. A response that is not of Ledgerbell has `about:blank`. */
  readonly type: string;
  /** Each value that is not allowed. */
  readonly errors: NonNullable<Problem['errors']>;
  /** Identifies the request in the log of the service. */
  readonly requestId: string | null;

  /** How many seconds the service asks to wait before the next attempt. null: it does not say. */
  readonly retryAfter: number | null;

  constructor(body: unknown, response: Response) {
    const problem = isProblem(body) ? body : null;
    const seconds = retryAfter(response);
    const explanation =
      problem?.detail ?? `The response has the status ${response.status} and no explanation.`;
    super(
      seconds === null
        ? explanation
        : `${explanation} The service asks to wait ${seconds} s before the next attempt.`,
    );
    this.status = response.status;
    this.type = problem?.type ?? 'about:blank';
    this.errors = problem?.errors ?? [];
    this.requestId = problem?.request_id ?? response.headers.get('X-Request-Id');
    this.retryAfter = seconds;
  }
}

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'type' in body && 'detail' in body;
