import EXAMPLES from './examples.json' with { type: 'json' };

/**
 * Examples of requests and answers, from one month of an invented bookshop. test/api/openapi-examples.test.ts makes them by calling the routes.
 */

interface Example {
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
  answers: Readonly<Record<string, unknown>>;
}

const OPERATIONS: Readonly<Record<string, Example>> = EXAMPLES.operations;

/** The examples of query parameters that operations have in common, by name. Those that mean something else elsewhere are not among them. */
const COMMON = new Map<string, string | null>();
for (const { query = {} } of Object.values(OPERATIONS))
  for (const [name, value] of Object.entries(query)) {
    const known = COMMON.get(name);
    COMMON.set(name, known === undefined || known === value ? value : null);
  }

/** A body of a request or an answer in the document, by content types. */
interface Body {
  content?: Record<string, object>;
}

interface Parameter {
  in: string;
  name: string;
  schema?: { type?: string };
  example?: unknown;
}

interface Operation {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: Body;
  responses: Record<string, Body>;
}

/** Adds the examples to an operation. */
export function addExamples<T extends Operation>(operation: T): T {
  const { body, answers = {}, ...request } = OPERATIONS[operation.operationId] ?? {};
  const { parameters, requestBody, responses } = operation;
  return {
    ...operation,
    ...(parameters && { parameters: parameters.map((it) => withOwnExample(it, request)) }),
    ...(requestBody && { requestBody: inJson(requestBody, body) }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, it]) => [status, inJson(it, answers[status])]),
    ),
  };
}

function withOwnExample<T extends Parameter>(parameter: T, { path, query, headers }: Partial<Example>): T {
  const { name, schema } = parameter;
  const texts: Record<string, string | undefined> = {
    path: path?.[name],
    query: COMMON.get(name) ?? query?.[name],
    header: headers?.[name],
  };
  const text = texts[parameter.in];
  const example = schema?.type === 'integer' && text !== undefined ? Number(text) : text;
  return 'example' in parameter || example === undefined ? parameter : { ...parameter, example };
}

function inJson<T extends Body>(body: T, example: unknown): T {
  const json = body.content?.['application/json'];
  if (json === undefined || example === undefined) return body;
  return { ...body, content: { ...body.content, 'application/json': { ...json, example } } };
}
