import { PROBLEMS, type ProblemName } from '../../platform/problem.ts';
import { MAX_ISSUES } from '../../platform/validation.ts';
import { headersOf, refer, type Traits } from './headers.ts';

/** The errors of the API, for /openapi.json. */

const plainText = (description: string) => ({ type: 'string' as const, description });

/** The body of every error, for the document's components. */
export const PROBLEM_SCHEMA = {
  type: 'object' as const,
  required: ['type', 'title', 'status', 'detail', 'message', 'request_id'],
  properties: {
    type: {
      type: 'string' as const,
      format: 'uri-reference',
      description: 'Which error it is. GET this path for an explanation.',
    },
    title: plainText('The error in a few words, the same for every occurrence.'),
    status: { type: 'integer' as const, minimum: 400, maximum: 599, description: 'The HTTP status.' },
    detail: plainText('What was wrong with this request, and what to do.'),
    message: plainText('The same text as detail.'),
    request_id: plainText('Identifies the request in the log of the service.'),
    errors: {
      type: 'array' as const,
      minItems: 1,
      maxItems: MAX_ISSUES,
      description: 'Each value that is not allowed.',
      items: {
        type: 'object' as const,
        required: ['path', 'message'],
        additionalProperties: false,
        properties: {
          path: plainText('The parameter, header, or path in the body.'),
          message: plainText('What is allowed.'),
        },
      },
    },
  },
  additionalProperties: false,
};

/** Errors that Node or the server answers before the app sees a request. */
const OF_HTTP: readonly ProblemName[] = ['malformed', 'request-timeout', 'headers-too-large'];
const OF_KEYS: readonly ProblemName[] = [
  'missing-api-key',
  'unknown-api-key',
  'missing-scope',
  'invalid',
  'rate-limited',
  'too-many-unknown-keys',
  'internal',
  'database-unavailable',
  'busy',
];
const OF_IDEMPOTENCY_KEYS: readonly ProblemName[] = [
  'request-in-progress',
  'idempotency-key-reused',
  'too-large',
];
const OF_BODIES: readonly ProblemName[] = [
  'malformed-json',
  'too-large',
  'unsupported-media-type',
  'unsupported-content-encoding',
];

/** The facts about a route that decide which errors it has. */
interface Route {
  scope?: string;
  wholeKey?: string;
  idempotent?: true | 'in its own way';
  body?: object;
  path?: object;
  /** Errors that only this route has. */
  problems?: readonly ProblemName[];
}

/** The errors that a route may answer with. */
export const namesOf = ({ scope, wholeKey, idempotent, body, path, problems = [] }: Route): ProblemName[] => [
  ...OF_HTTP,
  ...(scope === undefined ? [] : OF_KEYS),
  ...(idempotent !== undefined ? OF_IDEMPOTENCY_KEYS : []),
  ...(body === undefined ? [] : OF_BODIES),
  ...(path === undefined ? [] : (['not-found'] as const)),
  ...(wholeKey === undefined ? [] : (['limited-api-key'] as const)),
  ...problems,
];

/** The errors by status. Several problems may share a status. */
export function problemsOf(names: readonly ProblemName[], traits: Traits) {
  const statuses = [...new Set(names.map((name) => PROBLEMS[name].status))].sort();
  return Object.fromEntries(
    statuses.map((status) => {
      const those = [...new Set(names)].filter((name) => PROBLEMS[name].status === status);
      return [
        status,
        {
          description: those.map((name) => PROBLEMS[name].title).join('; '),
          headers: refer(headersOf(status, traits)),
          content: {
            'application/problem+json': {
              schema: {
                allOf: [{ $ref: '#/components/schemas/Problem' }],
                properties: {
                  type: { enum: those.map((name) => `/problems/${name}`) },
                  status: { const: status },
                },
                ...(status === 422 ? { required: ['errors'] } : {}),
              },
              examples: Object.fromEntries(
                those.map((name) => [name, { $ref: `#/components/examples/${name}` }]),
              ),
            },
          },
        },
      ];
    }),
  );
}

/** An example of each error, for the document's components. */
export const EXAMPLES = Object.fromEntries(
  (Object.keys(PROBLEMS) as ProblemName[]).map((name) => [name, { value: exampleOf(name) }]),
);

function exampleOf(name: ProblemName) {
  const { status, title, cause } = PROBLEMS[name];
  return {
    type: `/problems/${name}`,
    title,
    status,
    detail: cause,
    message: cause,
    request_id: '3f1c9a52-8d0e-4a57-9a4b-6d1f0c2b7e11',
    ...(status === 422 ? { errors: [{ path: 'title', message: 'is required' }] } : {}),
  };
}
