import type { JsonSchema } from './json-schema.ts';
import type { TestService } from './service.ts';

/** One method of one path, as /openapi.json describes it. */
export interface Operation {
  /** `POST /v1/webhooks/{id}/replay` */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { in: string; name: string }[];
  /** The schema of each content type it takes; null where the document has none. */
  readonly bodies: ReadonlyMap<string, JsonSchema | null>;
  /** The schema of each status it may answer with; null where the document has none. */
  readonly answers: ReadonlyMap<number, JsonSchema | null>;
}

type Content = Record<string, { schema?: JsonSchema }>;

interface Document {
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

/** All that the running service says it answers, in the order of the document: a route that is added later is in it. */
export async function readOperations(service: TestService): Promise<Operation[]> {
  const { body } = await service.call('GET', '/openapi.json');
  const { paths } = body as Document;
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
          Object.values(content)[0]?.schema ?? null,
        ]),
      ),
    })),
  );
}

/**
 * What kind of object a path parameter names: the segment before it, `webhooks` for `/v1/webhooks/{id}/replay`.
 * @throws when the path has no such parameter.
 */
export function collectionOf(path: string, parameter: string): string {
  const [, collection] = new RegExp(`/([^/]+)/\\{${parameter}\\}`).exec(path) ?? [];
  if (collection === undefined) throw new Error(`${path} has no parameter ${parameter} behind a segment`);
  return collection;
}
