import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { mysqlProblem } from '../database/errors.ts';
import type { Log } from '../platform/log.ts';
import { PROBLEMS, Problem } from '../platform/problem.ts';
import type { ApiEnv } from './environment.ts';

const RETRY_AFTER_SECONDS = '5';

/** Answers an error that a handler threw as application/problem+json (RFC 9457). */
export function answerError(error: unknown, c: Context<ApiEnv>, log: Log): Response {
  if (error instanceof Problem) return answerProblem(error, c);
  if (error instanceof HTTPException) {
    return answerProblem(
      new Problem(error.status === 413 ? 'too-large' : 'malformed', 'The request could not be read.'),
      c,
    );
  }
  const requestId = c.get('requestId');
  const problem = mysqlProblem(error);
  if (problem !== null) {
    log.warn({ err: error, requestId }, `MySQL ${problem}`);
    const detail = `MySQL ${problem}. Send the request again later, a POST with the same Idempotency-Key.`;
    return answerProblem(
      new Problem('database-unavailable', detail, { headers: { 'Retry-After': RETRY_AFTER_SECONDS } }),
      c,
    );
  }
  log.error({ err: error, requestId }, 'request failed');
  return answerProblem(
    new Problem('internal', `The request failed. Report its id to the operator: ${requestId}.`),
    c,
  );
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
