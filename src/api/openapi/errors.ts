import { PROBLEMS, type ProblemName } from '../../platform/problem.ts';
import { MAX_ISSUES } from '../../platform/validation.ts';
import { type Audience, headersOf, refer, type Traits } from './headers.ts';

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
/** The errors of every request that somebody must be known for. */
const OF_ALL: readonly ProblemName[] = ['invalid', 'internal', 'database-unavailable', 'busy'];
/** The errors of the credentials, and of who may not use them. */
const OF_CREDENTIALS: Readonly<Record<Audience, readonly ProblemName[]>> = {
  customers: ['missing-api-key', 'unknown-api-key', 'missing-scope', 'rate-limited', 'too-many-unknown-keys'],
  operators: [
    'missing-operator-token',
    'unknown-operator-token',
    'missing-role',
    'too-many-unknown-tokens',
    'no-api-process',
    'unanswered',
    // Any request may name a customer.
    'unknown-customer',
    'customer-deleting',
  ],
};
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
  role?: string;
  wholeKey?: string;
  idempotent?: true | 'in its own way';
  body?: object;
  path?: object;
  /** Errors that only this route has. */
  problems?: readonly ProblemName[];
}

/** The errors that a route may answer with, to those whom a listener is for. */
export const namesOf = (
  { scope, role, wholeKey, idempotent, body, path, problems = [] }: Route,
  audience: Audience,
): ProblemName[] => [
  ...OF_HTTP,
  ...(scope === undefined && role === undefined ? [] : [...OF_ALL, ...OF_CREDENTIALS[audience]]),
  ...(idempotent !== undefined ? OF_IDEMPOTENCY_KEYS : []),
  ...(body === undefined ? [] : OF_BODIES),
  ...(path === undefined ? [] : (['not-found'] as const)),
  ...(wholeKey === undefined || audience === 'operators' ? [] : (['limited-api-key'] as const)),
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
