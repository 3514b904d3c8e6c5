import * as v from 'valibot';
import type { ProblemName } from './problems/problem-types.ts';
import { MAX_ISSUES, toValidationIssue, type ValidationIssue } from './validation.ts';

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

/** 404. The same answer whether the object does not exist or belongs to another customer. */
export const notFound = (what: string) =>
  new Problem('not-found', `This ${what} does not exist, or this API key cannot see it.`);

/** 422 with the first 100 issues. */
export function invalidIssues(issues: readonly ValidationIssue[]): Problem {
  const [first = { path: '', message: 'is not valid' }, ...rest] = issues.slice(0, MAX_ISSUES);
  return invalid([first, ...rest]);
}

type Schema = v.GenericSchema<unknown, unknown>;

/** Validates a value. @throws {Problem} 422 with the path of each issue. */
export function check<S extends Schema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value, { abortPipeEarly: true });
  if (!result.success) throw invalidIssues(result.issues.map(toValidationIssue));
  return result.output;
}
