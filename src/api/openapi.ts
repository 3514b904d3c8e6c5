import { describeRoute, resolver } from 'hono-openapi';
import * as v from 'valibot';
import { PROBLEMS, type ProblemName } from '../http/problem.ts';

const ProblemBody = v.object({
  type: v.string(),
  title: v.string(),
  status: v.number(),
  detail: v.string(),
  message: v.string(),
  request_id: v.string(),
  errors: v.optional(v.array(v.object({ path: v.string(), message: v.string() }))),
});

/** A valibot schema for the document. Checks that JSON Schema cannot express are told by their messages instead. */
const schemaOf = (schema: v.GenericSchema) => resolver(schema, { errorMode: 'ignore', typeMode: 'input' });

/**
 * Describes one route in /openapi.json.
 * @param answer what a success looks like.
 * @param problems the errors that are this route's own; every route under /v1 also has 401 and 503.
 */
export function describe(route: {
  tag: string;
  summary: string;
  description?: string;
  answer: { status?: number; schema?: v.GenericSchema; description: string; media?: string };
  body?: Record<string, v.GenericSchema | null>;
  query?: Record<string, { description: string; example?: string }>;
  problems?: readonly ProblemName[];
  open?: boolean;
}) {
  const { answer, body, query = {}, problems = [], open = false } = route;
  const names: ProblemName[] = open ? [...problems] : ['unauthenticated', ...problems, 'unavailable'];
  const media = answer.media ?? 'application/json';
  return describeRoute({
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(open ? { security: [] } : {}),
    parameters: Object.entries(query).map(([name, { description, example }]) => ({
      in: 'query' as const,
      name,
      description,
      schema: { type: 'string' as const },
      ...(example === undefined ? {} : { example }),
    })),
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
        content: { [media]: answer.schema === undefined ? {} : { schema: schemaOf(answer.schema) } },
      },
      ...Object.fromEntries(
        names.map((name) => [
          PROBLEMS[name].status,
          {
            description: PROBLEMS[name].title,
            content: { 'application/problem+json': { schema: schemaOf(ProblemBody) } },
          },
        ]),
      ),
    },
  });
}
