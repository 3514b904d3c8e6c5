import type { Problem } from './generated/types.gen.ts';

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

  constructor(body: unknown, response: Response) {
    const problem = isProblem(body) ? body : null;
    super(problem?.detail ?? `The response has the status ${response.status} and no explanation.`);
    this.status = response.status;
    this.type = problem?.type ?? 'about:blank';
    this.errors = problem?.errors ?? [];
    this.requestId = problem?.request_id ?? response.headers.get('X-Request-Id');
  }
}

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'type' in body && 'detail' in body;
