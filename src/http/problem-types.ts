import { REQUEST_PROBLEMS } from './request-problems.ts';
import { STATE_PROBLEMS } from './state-problems.ts';

/**
 * Every kind of error that the API answers with. Errors that a program would handle differently have different types, also when
 * they share a status. `type` in an answer is `/problems/<name>`, a page that shows these texts. docs/errors.md lists them too.
 */
export const PROBLEMS = { ...REQUEST_PROBLEMS, ...STATE_PROBLEMS };

export type ProblemName = keyof typeof PROBLEMS;
