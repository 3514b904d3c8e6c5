import { PROBLEMS, type ProblemName } from '../../platform/problem.ts';
import { MAX_ISSUES } from '../../platform/validation.ts';

/** The errors of the API, for /openapi.json. */

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
    title: {
      type: 'string' as const,
      description: 'The error in a few words, the same for every occurrence.',
    },
    status: { type: 'integer' as const, minimum: 400, maximum: 599, description: 'The HTTP status.' },
    detail: { type: 'string' as const, description: 'What was wrong with this request, and what to do.' },
    message: { type: 'string' as const, description: 'The same text as detail.' },
    request_id: { type: 'string' as const, description: 'Identifies the request in the log of the service.' },
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
          path: { type: 'string' as const, description: 'The parameter, header, or path in the body.' },
          message: { type: 'string' as const, description: 'What is allowed.' },
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
  idempotent?: true | 'in its own way';
  body?: object;
  path?: object;
  /** Errors that only this route has. */
  problems?: readonly ProblemName[];
}

/** The errors that a route may answer with. */
export const namesOf = ({ scope, idempotent, body, path, problems = [] }: Route): ProblemName[] => [
  ...OF_HTTP,
  ...(scope === undefined ? [] : OF_KEYS),
  ...(idempotent !== undefined ? OF_IDEMPOTENCY_KEYS : []),
  ...(body === undefined ? [] : OF_BODIES),
  ...(path === undefined ? [] : (['not-found'] as const)),
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

/** The headers of the API's answers, for /openapi.json. */

const text = (description: string, example: string, required = false) => ({
  description,
  required,
  schema: { type: 'string' as const },
  example,
});

/** Header components of the document. */
export const HEADERS = {
  'X-Request-Id': text(
    'Identifies the request in the log of the service. It is your own X-Request-Id if you sent a plain one.',
    '3f1c9a52-8d0e-4a57-9a4b-6d1f0c2b7e11',
    true,
  ),
  'RateLimit-Policy': text(
    'How many requests (q) the API key may send in how many seconds (w). Absent if the service has no rate limit, and if the API key is missing or unknown. See draft-ietf-httpapi-ratelimit-headers.',
    '"default";q=10000;w=10',
  ),
  RateLimit: text(
    'How many requests (r) the API key has left for the coming seconds (t). Absent when RateLimit-Policy is.',
    '"default";r=9998;t=7',
  ),
  'Retry-After': {
    description: 'How many seconds to wait before the next try. Absent if waiting does not help.',
    schema: { type: 'integer' as const, minimum: 1 },
    example: 5,
  },
  'WWW-Authenticate': text('The scheme of the header Authorization.', 'Bearer realm="ledgerbell"', true),
  Link: text(
    'The path of the next page, rel="next" (RFC 8288). Absent on the last page.',
    '</v1/transactions?starts=2026-01-01&cursor=dDE6MTAwMA>; rel="next"',
  ),
  Location: text('The path of what was created.', '/v1/imports/17', true),
  'Cache-Control': text('no-store where an answer may hold a secret, which must not be cached.', 'no-store'),
};

export type HeaderName = keyof typeof HEADERS;

export const refer = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const RETRIABLE = new Set([409, 429, 503]);

/** The facts about a route that decide which headers its answers have. */
interface Traits {
  /** No API key is needed. */
  open: boolean;
  /** An answer may hold a secret: the route's own answer, or an answer that is stored for an Idempotency-Key. */
  secret: boolean;
}

/** The headers of an answer with this status. */
export const headersOf = (status: number, { open, secret }: Traits): HeaderName[] => [
  ...(secret ? (['Cache-Control'] as const) : []),
  'X-Request-Id',
  ...(open ? [] : (['RateLimit-Policy', 'RateLimit'] as const)),
  ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
  ...(RETRIABLE.has(status) ? (['Retry-After'] as const) : []),
];
