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
  /** The schema of each status it may answer with; null if the document has none. */
  readonly answers: ReadonlyMap<number, JsonSchema | null>;
}

type Content = Record<string, { schema?: JsonSchema }>;

interface Document {
  components: { schemas: Record<string, JsonSchema> };
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: { in: string; name: string }[];
        requestBody?: { content: Content };
        responses: Record<string, { content?: Content }>;
      }
    >
  >;
}

/** Reads all operations from the running service, in the order of its document. So tests include routes that are added later. */
export async function readOperations(service: TestService): Promise<Operation[]> {
  const { body } = await service.call('GET', '/openapi.json');
  const { paths, components } = body as Document;
  const resolve = (schema: (JsonSchema & { $ref?: string }) | undefined): JsonSchema | null =>
    schema?.$ref === undefined
      ? (schema ?? null)
      : (components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? null);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, responses }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      parameters,
      bodies: new Map(
        Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => [type, schema ?? null]),
      ),
      answers: new Map(
        Object.entries(responses).map(([status, { content = {} }]) => [
          Number(status),
          resolve(Object.values(content)[0]?.schema),
        ]),
      ),
    })),
  );
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
