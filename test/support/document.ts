import type { ValidateFunction } from 'ajv/dist/2020.js';
import { createValidator, issuesOf } from './json-schema.ts';
import type { Answer } from './service.ts';

/** Checks that what the service answers is what /openapi.json says. */

interface Header {
  required?: boolean;
  schema: object;
}

interface Response {
  headers?: Record<string, { $ref: string }>;
  content: Record<string, { schema?: object }>;
}

interface Document {
  components: { headers: Record<string, Header>; responses: Record<string, Response> };
  paths: Record<string, Record<string, { responses: Record<string, Response | { $ref: string }> }>>;
}

interface Contract {
  document: Document;
  /** The validator of the schema at a JSON pointer into the document. */
  validatorAt(...pointer: string[]): ValidateFunction;
}

/** The paths that the document is about. */
const DOCUMENTED = /^\/(v1|healthz|readyz)(\/|$)/;

/** The answers of a path below /v1 that has no such operation. */
const OF_OTHER_PATHS = [400, 401, 404, 405, 408, 409, 413, 422, 429, 431, 500, 503];

/** By origin. null: a server without a document, such as the operators' listener. */
const known = new Map<string, Promise<Contract | null>>();

/**
 * Throws when an answer is not documented: its status, content type, headers or body.
 * @param url of the request. Its server is asked for its document once; without one, nothing is checked.
 */
export async function requireDocumented(url: string, method: string, answer: Answer): Promise<void> {
  if (!URL.canParse(url)) return;
  const { origin, pathname } = new URL(url);
  if (!DOCUMENTED.test(pathname)) return;
  const reading = known.get(origin) ?? readContract(origin);
  known.set(origin, reading);
  const contract = await reading;
  if (contract === null) return;
  const issues = issuesOfAnswer(contract, pathname, method, answer);
  if (issues.length === 0) return;
  const { status, headers, body } = answer;
  const told = JSON.stringify({ status, headers: [...headers], body }).slice(0, 2_000);
  throw new Error(`${method} ${pathname} does not answer as documented: ${issues.join('; ')}. ${told}`);
}

async function readContract(origin: string): Promise<Contract | null> {
  const response = await fetch(`${origin}/openapi.json`);
  if (!response.ok) return null;
  const document = (await response.json()) as Document;
  const ajv = createValidator();
  ajv.addVocabulary(Object.keys(document));
  ajv.addSchema({ ...document, $id: 'openapi' }, undefined, undefined, false);
  const compiled = new Map<string, ValidateFunction>();
  return {
    document,
    validatorAt(...pointer) {
      const path = pointer
        .map((it) => it.replaceAll('~', '~0').replaceAll('/', '~1'))
        .map(encodeURIComponent);
      const reference = `openapi#/${path.join('/')}`;
      const validate = compiled.get(reference) ?? ajv.compile({ $ref: reference });
      compiled.set(reference, validate);
      return validate;
    },
  };
}

function issuesOfAnswer(contract: Contract, pathname: string, method: string, answer: Answer): string[] {
  const { paths } = contract.document;
  const template = Object.keys(paths).find((path) => matches(path, pathname));
  const asked = method === 'HEAD' ? 'get' : method.toLowerCase();
  const operation = template === undefined ? undefined : paths[template]?.[asked];
  if (template === undefined || operation === undefined) {
    return pathname.startsWith('/v1/') ? issuesOfUnrouted(contract, method, answer) : [];
  }
  const { status, headers, body } = answer;
  const listed = status in operation.responses ? String(status) : 'default';
  const found = operation.responses[listed];
  const [at, response] =
    found !== undefined && '$ref' in found
      ? [pointerOf(found.$ref), contract.document.components.responses[found.$ref.split('/').at(-1) ?? '']]
      : [['paths', template, asked, 'responses', listed], found];
  if (response === undefined) return [`status ${status} is not documented`];
  const issues = issuesOfHeaders(contract, response, headers);
  if (method === 'HEAD') return issues;
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  const content = response.content[type];
  if (content === undefined) return [...issues, `content type ${type} is not documented`];
  const { validatorAt } = contract;
  const validate = validatorAt(...at, 'content', type, 'schema');
  const isOther = listed === 'default' && body.status !== status;
  return [...issues, ...issuesOf(validate, body), ...(isOther ? ['the body has another status'] : [])];
}

/** The members of a reference such as `#/components/responses/Invalid`. */
const pointerOf = (reference: string) => reference.split('/').slice(1);

/** A path with a literal segment, such as /v1/settings/api, never has a sibling with a parameter there. */
function matches(template: string, pathname: string): boolean {
  const segments = pathname.split('/');
  const wanted = template.split('/');
  return (
    wanted.length === segments.length &&
    wanted.every((it, at) => (it.startsWith('{') ? segments[at] !== '' : it === segments[at]))
  );
}

function issuesOfUnrouted(contract: Contract, method: string, { status, body }: Answer): string[] {
  if (!OF_OTHER_PATHS.includes(status)) return [`status ${status}, and the document has no such operation`];
  return method === 'HEAD' ? [] : issuesOfProblem(contract, body);
}

const issuesOfProblem = ({ validatorAt }: Contract, body: unknown): string[] =>
  issuesOf(validatorAt('components', 'schemas', 'Problem'), body);

/** Each header that the document knows is sent where it is declared, and nowhere else. */
function issuesOfHeaders(
  { document, validatorAt }: Contract,
  response: Response,
  headers: Headers,
): string[] {
  const declared = new Set(Object.keys(response.headers ?? {}));
  return Object.entries(document.components.headers).flatMap(([name, { required = false, schema }]) => {
    const value = headers.get(name);
    if (value === null) return required && declared.has(name) ? [`the header ${name} is missing`] : [];
    if (!declared.has(name)) return [`the header ${name} is not documented`];
    const isInteger = 'type' in schema && schema.type === 'integer';
    const validate = validatorAt('components', 'headers', name, 'schema');
    return issuesOf(validate, isInteger ? Number(value) : value).map((issue) => `${name}: ${issue}`);
  });
}
