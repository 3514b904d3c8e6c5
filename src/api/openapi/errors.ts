import { PROBLEM_TYPE } from '../../http/app.ts';
import { PROBLEMS, type ProblemName } from '../../platform/problem.ts';
import { MAX_ISSUES } from '../../platform/validation.ts';
import { type Audience, type HeaderName, headersOf, refer } from './headers.ts';

/** The errors of the API, for /openapi.json. */

const plainText = (description: string) => ({ type: 'string' as const, description });

/** The fault of one value of a request. */
export const ISSUE_SCHEMA = {
  type: 'object' as const,
  required: ['path', 'message'],
  additionalProperties: false,
  properties: {
    path: plainText('The parameter, header, or path in the body.'),
    message: plainText('What is allowed.'),
  },
};

/** The body of every error, for the document's components. */
export const PROBLEM_SCHEMA = {
  type: 'object' as const,
  required: ['type', 'title', 'status', 'detail', 'message', 'request_id'],
  properties: {
    type: {
      type: 'string' as const,
      format: 'uri-reference',
      description: 'Which error it is. GET this path for an explanation.',
    },
    title: plainText('The error in a few words, the same for every occurrence.'),
    status: { type: 'integer' as const, minimum: 400, maximum: 599, description: 'The HTTP status.' },
    detail: plainText('What was wrong with this request, and what to do.'),
    message: plainText('The same text as detail.'),
    request_id: plainText('Identifies the request in the log of the service.'),
    errors: {
      type: 'array' as const,
      minItems: 1,
      maxItems: MAX_ISSUES,
      description: 'Each value that is not allowed.',
      items: { $ref: '#/components/schemas/ProblemIssue' },
    },
  },
  additionalProperties: false,
};

/** Errors that Node or the server answers before the app sees a request. */
const OF_HTTP: readonly ProblemName[] = ['malformed', 'request-timeout', 'headers-too-large'];
/** The errors of every request that somebody must be known for. */
const OF_ALL: readonly ProblemName[] = ['invalid', 'internal', 'database-unavailable', 'busy'];
/** The errors of the credentials, and of who may not use them. */
const OF_CREDENTIALS: Readonly<Record<Audience, readonly ProblemName[]>> = {
  customers: ['missing-api-key', 'unknown-api-key', 'missing-scope', 'rate-limited', 'too-many-unknown-keys'],
  operators: [
    'missing-operator-token',
    'unknown-operator-token',
    'missing-role',
    'too-many-unknown-tokens',
    'no-api-process',
    'unanswered',
    // Any request may name a customer.
    'unknown-customer',
    'customer-deleting',
  ],
};
const OF_IDEMPOTENCY_KEYS: readonly ProblemName[] = [
  'request-in-progress',
  'idempotency-key-reused',
  'too-large',
];
const OF_BODIES: readonly ProblemName[] = [
  'malformed-json',
  'too-large',
  'unsupported-media-type',
  'unsupported-content-encoding',
];

/** The facts about a route that decide which errors it has. */
interface Route {
  scope?: string;
  role?: string;
  wholeKey?: string;
  idempotent?: true | 'in its own way';
  body?: object;
  path?: object;
  /** Errors that only this route has. */
  problems?: readonly ProblemName[];
}

/** The errors that a route may answer with, to those whom a listener is for. */
export const namesOf = (
  { scope, role, wholeKey, idempotent, body, path, problems = [] }: Route,
  audience: Audience,
): ProblemName[] => [
  ...OF_HTTP,
  ...(scope === undefined && role === undefined ? [] : [...OF_ALL, ...OF_CREDENTIALS[audience]]),
  ...(idempotent !== undefined ? OF_IDEMPOTENCY_KEYS : []),
  ...(body === undefined ? [] : OF_BODIES),
  ...(path === undefined ? [] : (['not-found'] as const)),
  ...(wholeKey === undefined || audience === 'operators' ? [] : (['limited-api-key'] as const)),
  ...problems,
];

/** Errors that an operation does not list by their statuses, because they are the same everywhere: its answer `default` has them. */
const isGeneral = (name: ProblemName) =>
  name !== 'invalid' && PROBLEMS[name].status !== 403 && GENERAL.has(name);

const GENERAL = new Set<ProblemName>([
  ...OF_HTTP,
  ...OF_ALL,
  ...Object.values(OF_CREDENTIALS).flat(),
  ...OF_IDEMPOTENCY_KEYS,
  ...OF_BODIES,
]);

/**
 * The answers with errors, by status. Several problems may share a status. A status with general errors alone is part of `default`.
 * @param isLimited as of `headersOf`. @param isOpen whether everybody may call the route. It has no `default`.
 */
export function problemsOf(names: readonly ProblemName[], isLimited: boolean, isOpen: boolean) {
  const all = [...new Set(names)];
  const byStatus = new Map<number, ProblemName[]>();
  for (const name of all) {
    const { status } = PROBLEMS[name];
    byStatus.set(status, [...(byStatus.get(status) ?? []), name]);
  }
  const listed = [...byStatus].filter(([, those]) => isOpen || !those.every(isGeneral));
  return {
    ...Object.fromEntries(
      listed.map(([status, those]) => {
        const description = those.map((name) => PROBLEMS[name].title).join('; ');
        return [status, answerOf(those, description, headersOf(status, isLimited))];
      }),
    ),
    ...(isOpen
      ? {}
      : {
          default: answerOf(
            all.filter(isGeneral),
            'Another error. The type says which.',
            headersOf('default', isLimited),
          ),
        }),
  };
}

const answerOf = (names: readonly ProblemName[], description: string, headers: readonly HeaderName[]) => ({
  description,
  headers: refer(headers),
  content: {
    [PROBLEM_TYPE]: {
      schema: schemaOf(names),
      examples: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/examples/${name}` }])),
    },
  },
});

/** The schema of an answer that has one of these problems. Clients without unions take it for a Problem. */
function schemaOf(names: readonly ProblemName[]) {
  const schemas = names.map((name) => ({ $ref: `#/components/schemas/${schemaNameOf(name)}` }));
  const [first] = schemas;
  const [status, ...others] = new Set(names.map((name) => PROBLEMS[name].status));
  return schemas.length === 1 && first !== undefined
    ? first
    : { allOf: baseOf(others.length === 0 ? status : undefined), oneOf: schemas };
}

/** The schema that all errors of a status share. It is a single one, because openapi-python-client cannot merge a string with a constant. */
const baseOf = (status: number | undefined) => [
  { $ref: `#/components/schemas/${status === 422 ? 'ProblemWithErrors' : 'Problem'}` },
];

/** A problem that has errors. oapi-codegen sees `required` within allOf alone. */
export const PROBLEM_WITH_ERRORS_SCHEMA = {
  allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object' as const, required: ['errors'] }],
};

const schemaNameOf = (name: ProblemName) => `${pascalOf(name)}Problem`;

/** `TooLarge` of `too-large`. */
const pascalOf = (name: string) =>
  name.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** A schema for each error, for the document's components. */
export const PROBLEM_SCHEMAS = Object.fromEntries(
  (Object.keys(PROBLEMS) as ProblemName[]).map((name) => [
    schemaNameOf(name),
    {
      allOf: baseOf(PROBLEMS[name].status),
      properties: {
        type: { type: 'string' as const, const: `/problems/${name}` },
        status: { type: 'integer' as const, const: PROBLEMS[name].status },
      },
    },
  ]),
);

/** An answer of an operation. Only one with errors has the examples of problems. */
export interface ErrorAnswer {
  headers?: object;
  content?: { [PROBLEM_TYPE]?: { examples: Record<string, unknown> } };
}

/**
 * The name of an answer with errors among the document's components, such as `TooLarge`. null: the answer is no error.
 * @param status of the answer, or `default`. @param audience of the document.
 */
export function nameOfAnswer(
  status: string,
  { headers = {}, content = {} }: ErrorAnswer,
  audience: Audience,
): string | null {
  const problems = Object.keys(content[PROBLEM_TYPE]?.examples ?? {});
  if (problems.length === 0) return null;
  if (status === 'default') {
    const ofPost = problems.includes('request-in-progress') ? 'OfPost' : '';
    return `OtherError${ofPost}${problems.includes('malformed-json') ? 'WithBody' : ''}`;
  }
  const isOpen = audience === 'customers' && !('RateLimit' in headers);
  return `${problems.map(pascalOf).join('Or')}${isOpen ? 'WithoutRateLimit' : ''}`;
}

/** An example of each error, for the document's components. */
export const EXAMPLES = Object.fromEntries(
  (Object.keys(PROBLEMS) as ProblemName[]).map((name) => [name, { value: exampleOf(name) }]),
);

function exampleOf(name: ProblemName) {
  const { status, title, cause } = PROBLEMS[name];
  return {
    type: `/problems/${name}`,
    title,
    status,
    detail: cause,
    message: cause,
    request_id: '3f1c9a52-8d0e-4a57-9a4b-6d1f0c2b7e11',
    ...(status === 422 ? { errors: [{ path: 'title', message: 'is required' }] } : {}),
  };
}
