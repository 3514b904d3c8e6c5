import { describeRoute, resolver } from 'hono-openapi';
import * as v from 'valibot';
import { PROBLEMS, type ProblemName } from './problem.ts';
import type { Scope } from './scopes.ts';

const ProblemBody = v.object({
  type: v.string(),
  title: v.string(),
  status: v.number(),
  detail: v.string(),
  message: v.string(),
  request_id: v.string(),
  errors: v.optional(v.array(v.object({ path: v.string(), message: v.string() }))),
});

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
  ...(status === 429 || status === 503 ? refer('Retry-After') : {}),
});

/** A parameter of a request. `schema` is JSON Schema; a string if it is left out. */
export interface Parameter {
  description: string;
  example?: string;
  schema?: Record<string, unknown>;
}

const parametersOf = (where: 'query' | 'header', parameters: Record<string, Parameter> = {}) =>
  Object.entries(parameters).map(([name, { description, example, schema = { type: 'string' } }]) => ({
    in: where,
    name,
    description,
    schema,
    ...(example === undefined ? {} : { example }),
  }));

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
  };
  body?: Record<string, v.GenericSchema | null>;
  query?: Record<string, Parameter>;
  headers?: Record<string, Parameter>;
  /** The errors that are this route's own; every route with a scope also has 401, 403, 422, 429 and 503. */
  problems?: readonly ProblemName[];
}

/** Describes one route in /openapi.json. */
export function describe(route: RouteDescription) {
  const { answer, body, query, headers: requestHeaders, problems = [], scope } = route;
  const open = scope === undefined;
  const names: ProblemName[] = open
    ? [...problems, 'invalid']
    : ['unauthenticated', 'forbidden', 'invalid', ...problems, 'too-many-requests', 'unavailable'];
  const headers = (status: number) => (open ? {} : { headers: headersOf(status) });
  const media = answer.media ?? 'application/json';
  return describeRoute({
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(open ? { security: [] } : {}),
    parameters: [...parametersOf('query', query), ...parametersOf('header', requestHeaders)],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: Object.fromEntries(
              Object.entries(body).map(([type, schema]) => [
                type,
                schema === null ? {} : { schema: schemaOf(schema) },
              ]),
            ),
          },
        }),
    responses: {
      [answer.status ?? 200]: {
        description: answer.description,
        ...headers(answer.status ?? 200),
        content: { [media]: answer.schema === undefined ? {} : { schema: schemaOf(answer.schema) } },
      },
      ...Object.fromEntries(
        names.map((name) => [
          PROBLEMS[name].status,
          {
            description: PROBLEMS[name].title,
            ...headers(PROBLEMS[name].status),
            content: { 'application/problem+json': { schema: schemaOf(ProblemBody) } },
          },
        ]),
      ),
    },
  });
}
