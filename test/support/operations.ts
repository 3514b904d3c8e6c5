import type { JsonSchema } from './json-schema.ts';
import type { TestService } from './service.ts';

/** One method of one path, as /openapi.json describes it. */
export interface Operation {
  /** `POST /v1/webhooks/{id}/replay` */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { in: string; name: string }[];
  /** The schema of each content type it accepts; null for a file. */
  readonly bodies: ReadonlyMap<string, JsonSchema | null>;
}

interface Parameter {
  in: string;
  name: string;
}

type Content = Record<string, { schema?: JsonSchema }>;

interface Document {
  components: { schemas: Record<string, JsonSchema>; parameters: Record<string, Parameter> };
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: (Parameter | { $ref: string })[];
        requestBody?: { content: Content };
      }
    >
  >;
}

/**
 * Reads all operations from the running service, in the order of its document. So tests include routes that are added later.
 * @param options.ofOperators whether to read those of the operators' listener.
 */
export async function readOperations(
  { call, callOps }: TestService,
  { ofOperators = false }: { ofOperators?: boolean } = {},
): Promise<Operation[]> {
  const { body } = await (ofOperators ? callOps : call)('GET', '/openapi.json');
  const { paths, components } = body as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      parameters: parameters.map((it) => parameterOf(it, components.parameters)),
      bodies: new Map(
        Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => [
          type,
          schema === undefined || schema.format === 'binary'
            ? null
            : (resolve(schema, components.schemas) as JsonSchema),
        ]),
      ),
    })),
  );
}

function parameterOf(
  it: Parameter | { $ref: string },
  named: Readonly<Record<string, Parameter>>,
): Parameter {
  const found = '$ref' in it ? named[it.$ref.split('/').at(-1) ?? ''] : it;
  if (found === undefined) throw new Error(`${JSON.stringify(it)} refers to nothing`);
  return { in: found.in, name: found.name };
}

/** Puts named schemas in the place of references to them. */
function resolve(value: unknown, schemas: Readonly<Record<string, unknown>>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => resolve(item, schemas));
  const { $ref, ...rest } = value as Record<string, unknown>;
  if (typeof $ref === 'string') return resolve(schemas[$ref.split('/').at(-1) ?? ''], schemas);
  return Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, resolve(item, schemas)]));
}

/**
 * The collection of a path parameter: the segment before it, such as `webhooks` in `/v1/webhooks/{id}/replay`.
 * @throws when the path has no such parameter.
 */
export function collectionOf(path: string, parameter: string): string {
  const [, collection] = new RegExp(`/([^/]+)/\\{${parameter}\\}`).exec(path) ?? [];
  if (collection === undefined) throw new Error(`${path} has no parameter ${parameter} behind a segment`);
  return collection;
}
