import { toJsonSchema } from '@valibot/to-json-schema';
import { describeRoute, resolver } from 'hono-openapi';
import type * as v from 'valibot';
import type { Scope } from '../../customers/caller.ts';
import { IDEMPOTENCY_KEY, KEY_HOURS } from '../../platform/idempotency-key.ts';
import type { ProblemName } from '../../platform/problem.ts';
import { namesOf, problemsOf } from './errors.ts';
import { type HeaderName, headersOf, refer } from './headers.ts';

/** Describes the routes for /openapi.json: parameters, bodies and answers. */

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
    /** The media type of a stream that is the answer to a client that prefers it. */
    stream?: 'text/event-stream' | 'text/csv';
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
          ...(answer.stream === undefined
            ? {}
            : { [answer.stream]: { schema: { type: 'string' as const } } }),
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
