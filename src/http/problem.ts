import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { isConnectionError } from '../database/transaction.ts';
import type { Log } from '../log.ts';
import type { ValidationIssue } from '../validation.ts';
import type { ApiEnv } from './environment.ts';

/** Every kind of error the API answers with. Its `type` is /problems/<name>, a page that explains it. */
export const PROBLEMS = {
  malformed: { status: 400, title: 'The request cannot be read' },
  unauthenticated: { status: 401, title: 'No valid API key' },
  forbidden: { status: 403, title: 'This API key may not do that' },
  'not-found': { status: 404, title: 'Not found' },
  'method-not-allowed': { status: 405, title: 'This path does not take this method' },
  'request-timeout': { status: 408, title: 'The request did not arrive in time' },
  conflict: { status: 409, title: 'The request conflicts with the current state' },
  'webhook-disabled': { status: 409, title: 'The webhook is disabled' },
  'webhook-deleted': { status: 409, title: 'The webhook was deleted' },
  'too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'This content type is not supported' },
  invalid: { status: 422, title: 'The request holds values that are not allowed' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'headers-too-large': { status: 431, title: 'The request line or the headers are too large' },
  unavailable: { status: 503, title: 'The service is temporarily unavailable' },
  internal: { status: 500, title: 'Something went wrong on our side' },
} as const satisfies Record<string, { status: ContentfulStatusCode; title: string }>;

export type ProblemName = keyof typeof PROBLEMS;

/** An error answer. It may be thrown anywhere below a handler. `detail` is a sentence for a person and echoes no input. */
export class Problem extends Error {
  override name = 'Problem';
  readonly problem: ProblemName;
  readonly errors: readonly ValidationIssue[] | undefined;
  readonly headers: Record<string, string>;

  constructor(
    problem: ProblemName,
    detail: string,
    { errors, headers = {} }: { errors?: readonly ValidationIssue[]; headers?: Record<string, string> } = {},
  ) {
    super(detail);
    this.problem = problem;
    this.errors = errors;
    this.headers = headers;
  }
}

/** 422 that lists each issue with its path. The detail repeats the first one. */
export function invalid(errors: readonly [ValidationIssue, ...ValidationIssue[]]): Problem {
  const [{ path, message }] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new Problem('invalid', `${path} ${message}${more}.`.trimStart(), { errors });
}

/** 404. It is the same whether the object does not exist or belongs to another customer. */
export const notFound = (what: string) =>
  new Problem('not-found', `There is no such ${what}, or it is not one that this API key can see.`);

const RETRY_AFTER_SECONDS = '5';

/** Answers what a handler threw as application/problem+json (RFC 9457). */
export function answerError(error: unknown, c: Context<ApiEnv>, log: Log): Response {
  if (error instanceof Problem) return answerProblem(error, c);
  if (error instanceof HTTPException) {
    return answerProblem(
      new Problem(error.status === 413 ? 'too-large' : 'malformed', 'The request cannot be read.'),
      c,
    );
  }
  const requestId = c.get('requestId');
  if (isConnectionError(error)) {
    log.warn({ err: error, requestId }, 'MySQL cannot be reached');
    const detail = 'The database cannot be reached. Nothing of this request was kept: send it again later.';
    return answerProblem(
      new Problem('unavailable', detail, { headers: { 'Retry-After': RETRY_AFTER_SECONDS } }),
      c,
    );
  }
  log.error({ err: error, requestId }, 'request failed');
  return answerProblem(new Problem('internal', `Please report this request with its id, ${requestId}.`), c);
}

function answerProblem(problem: Problem, c: Context<ApiEnv>): Response {
  return c.body(renderProblem(problem, c.get('requestId')), PROBLEMS[problem.problem].status, {
    ...problem.headers,
    'Content-Type': PROBLEM_TYPE,
  });
}

export const PROBLEM_TYPE = 'application/problem+json';

/** Renders the body of an error. Also used for requests that never reach the app. */
export function renderProblem(
  { problem, message: detail, errors }: Pick<Problem, 'problem' | 'message' | 'errors'>,
  requestId: string,
): string {
  const { status, title } = PROBLEMS[problem];
  return JSON.stringify({
    type: `/problems/${problem}`,
    title,
    status,
    detail,
    message: detail,
    request_id: requestId,
    ...(errors === undefined ? {} : { errors }),
  });
}
