import { toJsonSchema } from '@valibot/to-json-schema';
import { describeRoute, resolver } from 'hono-openapi';
import type * as v from 'valibot';
import type { OperatorRole, Scope } from '../../customers/caller.ts';
import { IDEMPOTENCY_KEY, KEY_HOURS } from '../../platform/idempotency-key.ts';
import type { ProblemName } from '../../platform/problem.ts';
import { namesOf, problemsOf } from './errors.ts';
import { type Audience, type HeaderName, headersOf, refer } from './headers.ts';

/** Describes the routes for /openapi.json: parameters, bodies and answers. */

/** Converts a valibot schema for the document. Leaves out checks that JSON Schema cannot express. */
const schemaOf = (schema: v.GenericSchema) => resolver(schema, { errorMode: 'ignore', typeMode: 'input' });

/** A parameter of a request. `schema` is JSON Schema. By default, the parameter is a string. */
export interface Parameter {
  description: string;
  example?: string;
  schema?: Record<string, unknown>;
  /** Whether a header must be sent. */
  required?: true;
}

const parametersOf = (where: 'query' | 'header' | 'path', parameters: Record<string, Parameter> = {}) =>
  Object.entries(parameters).map(
    ([name, { description, example, required, schema = { type: 'string' } }]) => ({
      in: where,
      name,
      description,
      schema,
      ...(where === 'path' || required ? { required: true } : {}),
      ...(example === undefined ? {} : { example }),
    }),
  );

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

/** The example of an idempotency key. */
export const EXAMPLE_KEY = '8e03978e-40d5-43e8-bc93-6894a57f9324';

/** The header of every POST, for /openapi.json. */
const IDEMPOTENCY_KEY_PARAMETER: Record<string, Parameter> = {
  'Idempotency-Key': {
    description: `Makes it safe to repeat the request: within ${KEY_HOURS} hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.`,
    example: EXAMPLE_KEY,
    schema: { type: 'string', pattern: IDEMPOTENCY_KEY.source },
  },
};

export interface RouteDescription {
  tag: string;
  /** The name of the method in generated clients: a verb and the resource. */
  operationId: string;
  summary: string;
  description?: string;
  /** The scope that an API key needs. The route is then about one customer. undefined: it is about none. */
  scope?: Scope;
  /** Only operators are admitted, with this role or a higher one. Without it, the role follows from what the route does; see `admissionOf`. */
  role?: OperatorRole;
  /** The route is a GET and changes something all the same, so that no cache may answer it. */
  changes?: true;
  /** A second scope that the key needs. */
  alsoNeeds?: Scope;
  /** Only keys for all accounts are admitted. Others are told this sentence: what to do instead. */
  wholeKey?: string;
  /** The route is a POST and honours Idempotency-Key. 'in its own way': the route implements this itself. */
  idempotent?: true | 'in its own way';
  /**
   * The answer of a success. `secrets`: the paths of members with secrets, such as `webhook.secret`, or `webhooks.secret` in a list. Such
   * an answer must not be cached.
   */
  answer: {
    status?: 200 | 202;
    schema: v.GenericSchema;
    description: string;
    secrets?: readonly string[];
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

/** The header with which an operator names the customer, for /openapi.json. */
const CUSTOMER_PARAMETER: Record<string, Parameter> = {
  'Ledgerbell-Customer': {
    description: 'For which customer: its id, or external_id: and its external id, percent-encoded.',
    example: 'external_id:kitabevi-17',
    required: true,
  },
};

/** Describes one route in /openapi.json. @param audience of the document. */
export function describe(route: RouteDescription, audience: Audience) {
  const { answer, body, path, query, scope, role } = route;
  const idempotent = route.idempotent !== undefined;
  const open = scope === undefined && role === undefined;
  const isLimited = !open && audience === 'customers';
  const headers = {
    ...(audience === 'operators' && scope !== undefined ? CUSTOMER_PARAMETER : {}),
    ...(idempotent ? IDEMPOTENCY_KEY_PARAMETER : route.headers),
  };
  const status = answer.status ?? 200;
  const isPaged = query !== undefined && 'per_page' in query.entries;
  // A route may answer 200 with a page, and something else with 202.
  const pageHeaders = (of: number): HeaderName[] => (isPaged && of === 200 ? ['Link'] : []);
  const ofAnswer = [...headersOf(status, isLimited), ...pageHeaders(status), ...(answer.headers ?? [])];
  return describeRoute({
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(open ? { security: [] } : {}),
    parameters: [
      ...parametersOf('path', path),
      ...parametersOf('query', query && readParameters(query)),
      ...parametersOf('header', headers),
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
          const headers = refer([...headersOf(Number(other), isLimited), ...pageHeaders(Number(other))]);
          return [other, { description, headers, content: contentOf({ 'application/json': schema }) }];
        }),
      ),
      // The same of all routes, so that the document has each error once.
      ...problemsOf(namesOf(route, audience), isLimited, open),
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
