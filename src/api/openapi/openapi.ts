import { toJsonSchema } from '@valibot/to-json-schema';
import { describeRoute, resolver } from 'hono-openapi';
import type * as v from 'valibot';
import type { Scope } from '../../customers/caller.ts';
import { IDEMPOTENCY_KEY, KEY_HOURS } from '../../platform/idempotency-key.ts';
import { PROBLEMS, type ProblemName } from '../../platform/problem.ts';
import { MAX_ISSUES } from '../../platform/validation.ts';

/** Converts a valibot schema for the document. Leaves out checks that JSON Schema cannot express. */
const schemaOf = (schema: v.GenericSchema) => resolver(schema, { errorMode: 'ignore', typeMode: 'input' });

/** A parameter of a request. `schema` is JSON Schema. By default, the parameter is a string. */
export interface Parameter {
  description: string;
  example?: string;
  schema?: Record<string, unknown>;
}

const parametersOf = (where: 'query' | 'header' | 'path', parameters: Record<string, Parameter> = {}) =>
  Object.entries(parameters).map(([name, { description, example, schema = { type: 'string' } }]) => ({
    in: where,
    name,
    description,
    schema,
    ...(where === 'path' ? { required: true } : {}),
    ...(example === undefined ? {} : { example }),
  }));

/** The schema of a query. Descriptions and examples in it become those of the parameters. */
export type QuerySchema = v.GenericSchema & { entries: Record<string, v.GenericSchema> };

/** The parameters that a schema reads. */
const readParameters = (query: QuerySchema): Record<string, Parameter> =>
  Object.fromEntries(
    Object.entries(query.entries).map(([name, entry]) => {
      const options = { errorMode: 'ignore', typeMode: 'input' } as const;
      const { $schema: _, description = '', examples, ...schema } = toJsonSchema(entry, options);
      // A number stands in a query as a text, and so does its default.
      if (schema.type === 'integer' && 'default' in schema) schema.default = Number(schema.default);
      return [name, { description, schema, ...(examples && { example: String(examples[0]) }) }];
    }),
  );

/** An id in a path. */
export const idParameter = (what: string): Parameter => ({
  description: `The id of the ${what}.`,
  schema: { type: 'integer', minimum: 1 },
});

/** The header of every POST, for /openapi.json. */
const IDEMPOTENCY_KEY_PARAMETER: Record<string, Parameter> = {
  'Idempotency-Key': {
    description: `Makes it safe to repeat the request: within ${KEY_HOURS} hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.`,
    example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
    schema: { type: 'string', pattern: IDEMPOTENCY_KEY.source },
  },
};

export interface RouteDescription {
  tag: string;
  /** The name of the method in generated clients: a verb and the resource. */
  operationId: string;
  summary: string;
  description?: string;
  /** The scope that an API key needs. undefined: no key is needed. */
  scope?: Scope;
  /** A second scope that the key needs. */
  alsoNeeds?: Scope;
  /** Only keys for all accounts are admitted. Others are told this sentence: what to do instead. */
  wholeKey?: string;
  /** The route is a POST and honours Idempotency-Key. 'in its own way': the route implements this itself. */
  idempotent?: true | 'in its own way';
  /** The answer of a success. `secret`: the path of a member with a secret, such as `webhook.secret`. Such an answer must not be cached. */
  answer: {
    status?: 200 | 202;
    schema: v.GenericSchema;
    description: string;
    secret?: string;
    /** No cache may store the answer, although it has no secret: the request changes something. */
    isUncached?: true;
    /** The answer is a stream of server-sent events, for a client that accepts them. */
    isStream?: true;
    /** Other statuses with their meanings, and with the body if it differs. */
    statuses?: Record<number, string | { description: string; schema: v.GenericSchema }>;
    /** Headers that only this answer has. */
    headers?: readonly HeaderName[];
  };
  body?: Record<string, v.GenericSchema | null>;
  path?: Record<string, Parameter>;
  query?: QuerySchema;
  headers?: Record<string, Parameter>;
  /**
   * The errors that only this route has. The errors that come from a scope, an id in the path, a body and an Idempotency-Key are added.
   */
  problems?: readonly ProblemName[];
}

/** Describes one route in /openapi.json. */
export function describe(route: RouteDescription) {
  const { answer, body, path, query, headers = {}, scope } = route;
  const idempotent = route.idempotent !== undefined;
  const open = scope === undefined;
  const uncached = idempotent || answer.secret !== undefined || answer.isUncached === true;
  const traits = { open, uncached };
  const status = answer.status ?? 200;
  const ofAnswer = [
    ...headersOf(status, traits),
    ...(query !== undefined && 'per_page' in query.entries ? (['Link'] as const) : []),
    ...(answer.headers ?? []),
  ];
  return describeRoute({
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(open ? { security: [] } : {}),
    parameters: [
      ...parametersOf('path', path),
      ...parametersOf('query', query && readParameters(query)),
      ...parametersOf('header', idempotent ? IDEMPOTENCY_KEY_PARAMETER : headers),
    ],
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentOf(body) } }),
    responses: {
      [status]: {
        description: answer.description,
        headers: refer(ofAnswer),
        content: {
          ...contentOf({ 'application/json': answer.schema }),
          ...(answer.isStream === true
            ? { 'text/event-stream': { schema: { type: 'string' as const } } }
            : {}),
        },
      },
      ...Object.fromEntries(
        Object.entries(answer.statuses ?? {}).map(([other, it]) => {
          const { description, schema } =
            typeof it === 'string' ? { description: it, schema: answer.schema } : it;
          const headers = refer(headersOf(Number(other), traits));
          return [other, { description, headers, content: contentOf({ 'application/json': schema }) }];
        }),
      ),
      ...problemsOf(namesOf(route), traits),
    },
  });
}

/** The schema of a body of any bytes. Generated clients take it for a file. */
const FILE = { type: 'string' as const, format: 'binary' };

/** @param schemas by the media type of a body; null: the body is a file. */
const contentOf = (schemas: Record<string, v.GenericSchema | null>) =>
  Object.fromEntries(
    Object.entries(schemas).map(([type, schema]) => [
      type,
      { schema: schema === null ? FILE : schemaOf(schema) },
    ]),
  );

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
  'Cache-Control': text(
    'no-store where an answer may hold a secret, or the request changes something, so that it must not be cached. A stream has no-transform, too: what compresses it would hold events back.',
    'no-store',
  ),
};

export type HeaderName = keyof typeof HEADERS;

export const refer = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const RETRIABLE = new Set([409, 429, 503]);

/** The facts about a route that decide which headers its answers have. */
interface Traits {
  /** No API key is needed. */
  open: boolean;
  /** An answer may hold a secret, the route's own or one stored for an Idempotency-Key; or the request changes something. */
  uncached: boolean;
}

/** The headers of an answer with this status. */
export const headersOf = (status: number, { open, uncached }: Traits): HeaderName[] => [
  ...(uncached ? (['Cache-Control'] as const) : []),
  'X-Request-Id',
  ...(open ? [] : (['RateLimit-Policy', 'RateLimit'] as const)),
  ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
  ...(RETRIABLE.has(status) ? (['Retry-After'] as const) : []),
];
