import type { JsonSchema } from './json-schema.ts';
import type { TestService } from './service.ts';

/** One method of one path, as /openapi.json describes it. */
export interface Operation {
  /** `POST /v1/webhooks/{id}/replay` */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { in: string; name: string }[];
  /** The schema of each content type it accepts; null if the document has none. */
  readonly bodies: ReadonlyMap<string, JsonSchema | null>;
}

type Content = Record<string, { schema?: JsonSchema }>;

interface Parameter {
  in: string;
  name: string;
  style?: string;
  schema?: JsonSchema;
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: Parameter[];
        requestBody?: { content: Content };
      }
    >
  >;
}

/** Reads all operations from the running service, in the order of its document. So tests include routes that are added later. */
export async function readOperations(service: TestService): Promise<Operation[]> {
  const { body } = await service.call('GET', '/openapi.json');
  const { paths } = body as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      parameters: parameters.flatMap(membersOf),
      bodies: new Map(
        Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => [type, schema ?? null]),
      ),
    })),
  );
}

/** A parameter of style form that is an object stands for its properties, each a parameter of its own. */
const membersOf = ({ in: where, name, style, schema }: Parameter) =>
  style === 'form' && schema?.properties !== undefined
    ? Object.keys(schema.properties).map((property) => ({ in: where, name: property }))
    : [{ in: where, name }];

/**
 * The collection of a path parameter: the segment before it, such as `webhooks` in `/v1/webhooks/{id}/replay`.
 * @throws when the path has no such parameter.
 */
export function collectionOf(path: string, parameter: string): string {
  const [, collection] = new RegExp(`/([^/]+)/\\{${parameter}\\}`).exec(path) ?? [];
  if (collection === undefined) throw new Error(`${path} has no parameter ${parameter} behind a segment`);
  return collection;
}
