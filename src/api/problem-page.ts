import { createHandlers } from '../http/app.ts';
import { notFound, PROBLEMS, type ProblemName } from '../platform/problem.ts';

const isProblemName = (name: string): name is ProblemName => Object.hasOwn(PROBLEMS, name);

/** GET /problems/:name: the page that the `type` of an error refers to (RFC 9457, section 3.1.1). */
export const getProblem = () =>
  createHandlers((c) => {
    const name = c.req.param('name') ?? '';
    if (!isProblemName(name)) throw notFound('problem');
    const { status, title, cause, remedy, retry } = PROBLEMS[name];
    return c.text(
      [
        `${title} (${status}, /problems/${name})`,
        `What happened: ${cause}`,
        `What to do: ${remedy}`,
        `Retry: ${retry}`,
        'The fields detail and errors of the answer are about your request.\n',
      ].join('\n\n'),
    );
  });
