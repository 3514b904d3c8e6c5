import { createHandlers } from '../http/environment.ts';
import { notFound, PROBLEMS, type ProblemName } from '../http/problem.ts';

const isProblemName = (name: string): name is ProblemName => Object.hasOwn(PROBLEMS, name);

/** GET /problems/:name: the page that the `type` of an error refers to (RFC 9457, section 3.1.1). */
export const getProblem = () =>
  createHandlers((c) => {
    const name = c.req.param('name') ?? '';
    if (!isProblemName(name)) throw notFound('problem');
    const { status, title } = PROBLEMS[name];
    return c.text(
      `${status} ${name}: ${title}.\n\nThe answer's "detail" and "errors" say what was wrong and what is allowed.\n`,
    );
  });
