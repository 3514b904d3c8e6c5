import { describeRoute, resolver } from 'hono-openapi';
import type * as v from 'valibot';
import { PROBLEMS, type ProblemName } from './problem.ts';
import type { Scope } from './scopes.ts';

/** The body of every error, for the document's components. */
export const PROBLEM_SCHEMA = {
  type: 'object' as const,
  required: ['type', 'title', 'status', 'detail', 'message', 'request_id'],
  properties: {
    type: { type: 'string' as const, format: 'uri-reference', description: 'Which error it is.' },
    title: { type: 'string' as const },
    status: { type: 'integer' as const },
    detail: { type: 'string' as const, description: 'What was wrong, and what to do.' },
    message: { type: 'string' as const, description: 'The same as detail.' },
    request_id: { type: 'string' as const },
    errors: {
      type: 'array' as const,
      items: {
        type: 'object' as const,
        required: ['path', 'message'],
        properties: { path: { type: 'string' as const }, message: { type: 'string' as const } },
      },
    },
  },
};

/** Converts a valibot schema for the document. Checks that JSON Schema cannot express are left out of it. */
const schemaOf = (schema: v.GenericSchema) => resolver(schema, { errorMode: 'ignore', typeMode: 'input' });

const integer = { type: 'integer' as const, minimum: 0 };
const structured = (description: string, example: string) => ({
  description: `${description} See draft-ietf-httpapi-ratelimit-headers.`,
  schema: { type: 'string' as const },
  example,
});

/** Header components of the document. Answers to a known API key carry the first two, unless rate limiting is off. */
export const RATE_LIMIT_HEADERS = {
  'RateLimit-Policy': structured(
    'How many requests (q) the API key may send in how many seconds (w).',
    '"default";q=10000;w=10',
  ),
  RateLimit: structured(
    'How many requests (r) the API key has left for the coming seconds (t).',
    '"default";r=9998;t=7',
  ),
  'Retry-After': { description: 'How many seconds to wait before the next try.', schema: integer },
};

const refer = (...names: (keyof typeof RATE_LIMIT_HEADERS)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The headers of an answer under /v1 with this status. */
const headersOf = (status: number) => ({
  ...(status === 401 ? {} : refer('RateLimit-Policy', 'RateLimit')),
  ...(status === 409 || status === 429 || status === 503 ? refer('Retry-After') : {}),
});

/** A parameter of a request. `schema` is JSON Schema; a string if it is left out. */
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

/** An id in a path. */
export const idParameter = (what: string): Parameter => ({
  description: `The id of the ${what}.`,
  schema: { type: 'integer', minimum: 1 },
});

export interface RouteDescription {
  tag: string;
  summary: string;
  description?: string;
  /** The scope that an API key needs; left out where no key is needed. */
  scope?: Scope;
  /** What a success looks like. `secret`: it holds one, and must not be cached. */
  answer: {
    status?: number;
    schema?: v.GenericSchema;
    description: string;
    media?: string;
    secret?: boolean;
    /** Other statuses that have the same body, with what they mean. */
    statuses?: Record<number, string>;
    /** Headers of its own, by name, with what they hold. */
    headers?: Record<string, string>;
  };
  body?: Record<string, v.GenericSchema | null>;
  path?: Record<string, Parameter>;
  query?: Record<string, Parameter>;
  headers?: Record<string, Parameter>;
  /** The errors that are this route's own; every route with a scope also has 401, 403, 422, 429 and 503. */
  problems?: readonly ProblemName[];
}

/** Describes one route in /openapi.json. */
export function describe(route: RouteDescription) {
  const { answer, body, path, query, headers, problems = [], scope } = route;
  const open = scope === undefined;
  const names: ProblemName[] = open
    ? [...problems]
    : ['unauthenticated', 'forbidden', 'invalid', ...problems, 'too-many-requests', 'unavailable'];
  const own = Object.entries({
    ...(query?.cursor === undefined ? {} : { Link: 'Where the next page begins: rel="next" (RFC 8288).' }),
    ...answer.headers,
  }).map(([name, description]) => [name, { description, schema: { type: 'string' as const } }]);
  return describeRoute({
    operationId: operationId(route.summary),
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(open ? { security: [] } : {}),
    parameters: [
      ...parametersOf('path', path),
      ...parametersOf('query', query),
      ...parametersOf('header', headers),
    ],
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentOf(body) } }),
    responses: {
      [answer.status ?? 200]: {
        description: answer.description,
        headers: { ...(open ? {} : headersOf(answer.status ?? 200)), ...Object.fromEntries(own) },
        content: contentOf({ [answer.media ?? 'application/json']: answer.schema ?? null }),
      },
      ...Object.fromEntries(
        Object.entries(answer.statuses ?? {}).map(([status, description]) => [
          status,
          { description, content: contentOf({ 'application/json': answer.schema ?? null }) },
        ]),
      ),
      ...problemsOf(names, open),
    },
  });
}

/** `List your webhooks` is `listYourWebhooks`. */
const operationId = (summary: string): string =>
  summary
    .replaceAll(/[^A-Za-z ]/g, '')
    .split(' ')
    .map((word, at) => (at === 0 ? word.toLowerCase() : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('');

const contentOf = (schemas: Record<string, v.GenericSchema | null>) =>
  Object.fromEntries(
    Object.entries(schemas).map(([type, schema]) => [
      type,
      schema === null ? {} : { schema: schemaOf(schema) },
    ]),
  );

/** The errors by status: several problems may share one. */
function problemsOf(names: readonly ProblemName[], open: boolean) {
  const statuses = [...new Set(names.map((name) => PROBLEMS[name].status))];
  return Object.fromEntries(
    statuses.map((status) => {
      const those = [...new Set(names)].filter((name) => PROBLEMS[name].status === status);
      return [
        status,
        {
          description: those.map((name) => PROBLEMS[name].title).join('; '),
          headers: open ? {} : headersOf(status),
          content: {
            'application/problem+json': {
              schema: { $ref: '#/components/schemas/Problem' },
              examples: Object.fromEntries(those.map((name) => [name, { value: exampleOf(name) }])),
            },
          },
        },
      ];
    }),
  );
}

const exampleOf = (name: ProblemName) => ({
  type: `/problems/${name}`,
  title: PROBLEMS[name].title,
  status: PROBLEMS[name].status,
  detail: `${PROBLEMS[name].title}.`,
  message: `${PROBLEMS[name].title}.`,
  request_id: '3f1c9a52-8d0e-4a57-9a4b-6d1f0c2b7e11',
  ...(name === 'invalid' ? { errors: [{ path: 'title', message: 'is required' }] } : {}),
});
