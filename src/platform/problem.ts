import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { KEY_HOURS } from './idempotency-key.ts';

/** The errors of the API: their names, statuses and texts (RFC 9457). */

/** One error of an input: its dot path, and what is allowed. Never contains the value. */
export interface ValidationIssue {
  path: string;
  message: string;
}

/** An error answer. It may be thrown anywhere below a handler. `detail` is a sentence for a person and echoes no input. */
export class Problem extends Error {
  override name = 'Problem';
  readonly problem: ProblemName;
  readonly errors: readonly ValidationIssue[] | undefined;
  readonly headers: Record<string, string>;

  constructor(
    problem: ProblemName,
    detail: string,
    { errors, headers = {} }: { errors?: readonly ValidationIssue[]; headers?: Record<string, string> } = {},
  ) {
    super(detail);
    this.problem = problem;
    this.errors = errors;
    this.headers = headers;
  }
}

/** 422 that lists each issue with its path. The detail repeats the first one. */
export function invalid(errors: readonly [ValidationIssue, ...ValidationIssue[]]): Problem {
  const [{ path, message }] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new Problem('invalid', `${path} ${message}${more}.`.trimStart(), { errors });
}

/** Names the place in a body in a problem, and in each of its issues. @returns other errors as they are. */
export function within(path: string, error: unknown): unknown {
  if (!(error instanceof Problem)) return error;
  const errors = error.errors?.map((it) => placeIssue(path, it));
  const { problem, message, headers } = error;
  return new Problem(
    problem,
    `${path}: ${message}`,
    errors === undefined ? { headers } : { errors, headers },
  );
}

/** An issue whose path begins with the place of what it is about. */
export const placeIssue = (path: string, issue: ValidationIssue): ValidationIssue => ({
  ...issue,
  path: issue.path === '' ? path : `${path}.${issue.path}`,
});

/** 404. The same answer whether the object does not exist or belongs to another customer. */
export const notFound = (what: string) =>
  new Problem('not-found', `This ${what} does not exist, or this API key cannot see it.`);

/** The texts of a kind of error, for people who write clients. */
interface ProblemText {
  status: ContentfulStatusCode;
  /** The same for every occurrence (RFC 9457, section 3.1.3). */
  title: string;
  /** The cause, for people to read. */
  cause: string;
  /** The remedy. */
  remedy: string;
  /** Whether the same request can succeed later. */
  retry: string;
}

/** A problem whose texts do not say otherwise can be retried only with one of these statuses. */
const TEMPORARY: readonly number[] = [429, 503];
const AFTER_RETRY_AFTER = 'Yes, after Retry-After.';

const TEXTS = {
  // Errors of a request that is wrong, or that its sender may not make.
  malformed: {
    status: 400,
    title: 'Malformed request',
    cause: 'The request is not valid HTTP/1.1, or its target or Host header is not valid.',
    remedy: 'Check how your client builds the request, and what proxies do to it.',
  },
  'malformed-json': {
    status: 400,
    title: 'Malformed JSON',
    cause: 'The body is not valid JSON in UTF-8.',
    remedy: 'Build the body with a JSON library, and send it as UTF-8.',
  },
  'malformed-multipart': {
    status: 400,
    title: 'Malformed multipart body',
    cause: 'The body is not valid multipart/form-data.',
    remedy: 'Let your HTTP library build the body and its Content-Type.',
  },
  'missing-api-key': {
    status: 401,
    title: 'Missing API key',
    cause: 'The request has no API key, or none that can be read.',
    remedy: 'Send Authentication: <api key> or Authorization: Bearer <api key>.',
  },
  'unknown-api-key': {
    status: 401,
    title: 'Unknown API key',
    cause: 'The API key is mistyped or deleted.',
    remedy: 'Check the key. GET /v1/apikeys lists the keys that exist.',
  },
  'missing-operator-token': {
    status: 401,
    title: "Missing operator's token",
    cause: "The request has no operator's token, or none that can be read.",
    remedy:
      'Send Authorization: Bearer lbop_…. Customers send their API key to the address of the API instead.',
  },
  'unknown-operator-token': {
    status: 401,
    title: "Unknown operator's token",
    cause: "The operator's token is mistyped, deleted or expired.",
    remedy: 'Check the token. GET /v1/operator-tokens lists the tokens that exist.',
  },
  unauthenticated: {
    status: 401,
    title: 'Sign-in required',
    cause: "The name or the password for an operators' page is missing or wrong.",
    remedy:
      'Use ADMIN_USER and ADMIN_PASSWORD. Where they are not set, the service prints a password when it starts.',
  },
  'missing-scope': {
    status: 403,
    title: 'Missing scope',
    cause: 'The API key lacks the scope that this operation needs.',
    remedy: 'Use a key with the scope that the detail names. POST /v1/apikeys creates one.',
  },
  'missing-role': {
    status: 403,
    title: 'Missing role',
    cause: "The operator's token has a role that may not do this.",
    remedy: 'Use a token with the role that the detail names.',
  },
  'limited-api-key': {
    status: 403,
    title: 'API key limited to some accounts',
    cause: 'The operation concerns all accounts, and the API key is limited to some.',
    remedy: 'Use an API key for all accounts.',
  },
  'pending-for-other-accounts': {
    status: 403,
    title: 'Deliveries of other accounts are pending',
    cause:
      'The webhook has matched accounts that the API key cannot see. A new endpoint or new headers could send their pending deliveries elsewhere, and a feed would hand them out.',
    remedy: 'Wait until they are delivered or failed, or use an API key for all accounts.',
    retry: 'Yes, when the webhook has fewer pending deliveries.',
  },
  forbidden: {
    status: 403,
    title: 'Access denied',
    cause:
      "Without a password, operators' pages answer only on the machine itself. They accept no changes from pages of other sites.",
    remedy: 'Open the page on that machine, or set ADMIN_USER and ADMIN_PASSWORD.',
  },
  'unknown-customer': {
    status: 404,
    title: 'Unknown customer',
    cause: 'No customer has this id or external id, or it was deleted.',
    remedy: 'Check the id. GET /v1/customers lists the customers.',
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    cause: 'The path or the object does not exist, or the API key cannot see the object.',
    remedy: 'Check the path, the id and the accounts of the key.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    cause: 'The path exists, but not for this method.',
    remedy: 'Use one of the methods in the header Allow.',
  },
  'request-timeout': {
    status: 408,
    title: 'Request timeout',
    cause:
      'The headers took longer than 15 seconds, the whole request longer than 10 minutes, or the body of a dry run came too slowly.',
    remedy: 'Send the request without long pauses, or split a large import.',
    retry: 'Yes, on a new connection.',
  },
  'too-large': {
    status: 413,
    title: 'Body too large',
    cause: 'The body is larger than the limit that the detail names, or a dry run of it takes too long.',
    remedy: 'Split the import, or send NDJSON, which may be larger.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported content type',
    cause: 'The operation does not accept this Content-Type.',
    remedy: 'Use a content type that the detail names.',
  },
  'unsupported-content-encoding': {
    status: 415,
    title: 'Unsupported content encoding',
    cause: 'The operation does not accept a body with this Content-Encoding.',
    remedy: 'Send the body without Content-Encoding. Only statement files may be gzip.',
  },
  invalid: {
    status: 422,
    title: 'Invalid request',
    cause: 'A parameter, header or field has a value that is not allowed.',
    remedy: 'Correct each value that is listed in errors.',
  },
  'unreadable-file': {
    status: 422,
    title: 'Unreadable file',
    cause:
      'The beginning of the file shows that it is empty, in no supported format, fits no profile, or is packed in a way that is refused.',
    remedy: 'Do what the detail says. Nothing was stored, so GET /v1/imports does not list the file.',
  },
  'endpoint-refused': {
    status: 422,
    title: 'Endpoint refused',
    cause: "The endpoint's host does not exist in DNS, or leads to a private or special address only.",
    remedy: 'Use a public address. The operator can allow others with ALLOW_PRIVATE_ENDPOINTS.',
    retry: 'Yes, when the DNS record has been created or changed.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Headers too large',
    cause: 'The request line and headers exceed 16 KiB, or there are more than 100 headers.',
    remedy: 'Shorten the URL and the headers.',
  },

  // Errors of a request that could succeed in another state of the service, or at another time.
  'request-in-progress': {
    status: 409,
    title: 'Request in progress',
    cause: 'Another request with this Idempotency-Key has not been answered yet.',
    remedy: 'Send the same request again to get the answer of the first.',
    retry: AFTER_RETRY_AFTER,
  },
  'idempotency-key-reused': {
    status: 409,
    title: 'Idempotency key reused',
    cause: `Another request had this Idempotency-Key within the last ${KEY_HOURS} hours.`,
    remedy: 'Use a new key, except to repeat a request unchanged.',
  },
  'customer-deleting': {
    status: 409,
    title: 'Customer is being deleted',
    cause: 'The customer is being deleted with everything that belongs to it. Nothing of it can be changed.',
    remedy: 'Nothing. Its external id is free for a new customer.',
  },
  'external-id-taken': {
    status: 409,
    title: 'External id taken',
    cause: 'Another customer has this external id.',
    remedy: 'Use another external id, or change that of the other customer first.',
  },
  'operator-token-limit-reached': {
    status: 409,
    title: "Limit of operators' tokens reached",
    cause: "The installation has as many operators' tokens as it may have.",
    remedy: 'Delete a token that is no longer needed.',
  },
  'unfinished-import': {
    status: 409,
    title: 'Import not finished',
    cause: 'An import is queued or running, and its API key cannot be deleted, nor the import withdrawn.',
    remedy: 'Follow the import that the detail names, then repeat the request.',
    retry: 'Yes, when the import is done or failed.',
  },
  'import-not-failed': {
    status: 409,
    title: 'Import not failed',
    cause: 'Only a failed import can be retried.',
    remedy: 'Follow the import until it is done or failed.',
    retry: 'Yes, when the import has failed.',
  },
  'import-not-retryable': {
    status: 409,
    title: 'Import cannot be retried',
    cause: 'The body of the import, or the API key that it was sent with, was deleted.',
    remedy: 'Send the file again as a new import.',
  },
  'conflict-decided': {
    status: 409,
    title: 'Conflict already decided',
    cause: 'The conflict was decided the other way.',
    remedy: 'Nothing, if that was right. Correct a wrongly stored movement with another movement.',
  },
  'webhook-disabled': {
    status: 409,
    title: 'Webhook disabled',
    cause: 'Nothing is sent to a disabled webhook.',
    remedy: `Correct the endpoint, set the webhook's status to "active", and repeat the request.`,
    retry: 'Yes, when the webhook is active.',
  },
  'webhook-of-template': {
    status: 409,
    title: 'Webhook of a template',
    cause: 'An operator keeps this webhook for all customers, so it is not changed by itself.',
    remedy: 'Change its template.',
  },
  'webhook-deleted': {
    status: 409,
    title: 'Webhook deleted',
    cause: 'Nothing is sent to a deleted webhook.',
    remedy: 'Create a new webhook, and read past movements with GET /v1/transactions.',
  },
  'not-a-feed': {
    status: 409,
    title: 'Not a feed',
    cause: 'The webhook sends its events to an endpoint, and has no feed.',
    remedy: 'Create a webhook with the delivery "pull".',
  },
  'pulled-webhook': {
    status: 409,
    title: 'Events are pulled',
    cause: 'The webhook sends and signs nothing, because its subscriber reads its feed.',
    remedy:
      'To read events again, replay the feed: POST /v1/webhooks/{id}/replay. There is no secret to replace: the API key protects the feed.',
  },
  'cursor-gone': {
    status: 410,
    title: 'Cursor gone',
    cause:
      'The feed was replayed since the cursor was handed out, or movements after the cursor have been removed.',
    remedy: 'Leave cursor out. The answer then begins after the last acknowledged event.',
  },
  'replay-done': {
    status: 409,
    title: 'Replay done',
    cause: 'All deliveries of the replay were sent before it was cancelled.',
    remedy: 'Nothing. What was sent cannot be taken back.',
  },
  'webhook-limit-reached': {
    status: 409,
    title: 'Too many webhooks',
    cause: 'The customer has reached its limit of webhooks.',
    remedy: 'Delete an unused webhook, or ask the operator for a higher WEBHOOKS_PER_CUSTOMER.',
    retry: 'Yes, when a webhook was deleted.',
  },
  'operator-customer': {
    status: 409,
    title: "Operator's customer",
    cause: 'The customer of the operator cannot be deleted.',
    remedy: 'Delete its webhooks or webhook templates instead.',
  },
  'replay-under-way': {
    status: 409,
    title: 'Replay under way',
    cause: 'An earlier replay of the template has not reached all of its webhooks yet.',
    remedy: 'Wait until "replay" of the template is null.',
    retry: 'Yes, when the earlier replay has reached all webhooks.',
  },
  'template-limit-reached': {
    status: 409,
    title: 'Too many webhook templates',
    cause: 'The installation has as many webhook templates as allowed.',
    remedy: 'Delete a template that you no longer need.',
    retry: 'Yes, when a template was deleted.',
  },
  'api-key-limit-reached': {
    status: 409,
    title: 'Too many API keys',
    cause: 'The customer has reached its limit of API keys.',
    remedy: 'Delete an unused key, or ask the operator for a higher KEYS_PER_CUSTOMER.',
    retry: 'Yes, when a key was deleted.',
  },
  'removed-time': {
    status: 409,
    title: 'Removed time',
    cause: 'The conflict is of a time whose movements have been removed.',
    remedy: 'Ignore the conflict.',
  },
  'source-limit-reached': {
    status: 409,
    title: 'Too many sources',
    cause: 'The customer has reached its limit of sources.',
    remedy: 'Delete an unused source.',
    retry: 'Yes, when a source was deleted.',
  },
  'not-collectable-again': {
    status: 409,
    title: 'File not collectable again',
    cause: 'The import of the file was not withdrawn, or not yet, or the source cannot read the file again.',
    remedy: 'Do what the detail says.',
    retry: 'Yes, when the withdrawal that the detail names is done.',
  },
  'account-limit-reached': {
    status: 409,
    title: 'Too many accounts',
    cause: 'The customer has reached its limit of accounts.',
    remedy: 'Delete an unused account.',
    retry: 'Yes, when an account was deleted.',
  },
  'movement-withdrawn': {
    status: 409,
    title: 'Movement withdrawn',
    cause: 'A movement that was withdrawn is not sent any more.',
    remedy: 'Nothing. Send the delivery of its withdrawal again if it is missing.',
  },
  'account-deleting': {
    status: 409,
    title: 'Account being deleted',
    cause: 'The account of the movement is being deleted.',
    remedy: 'Nothing. The movement and its deliveries will soon be removed.',
  },
  'rate-limited': {
    status: 429,
    title: 'Rate limit exceeded',
    cause: 'The API key, or all keys of the customer together, sent too many requests in the current window.',
    remedy: 'Spread your requests. The headers RateLimit-Policy and RateLimit show what is left.',
  },
  'too-many-unknown-keys': {
    status: 429,
    title: 'Too many unknown API keys',
    cause: 'Too many unknown API keys came from your address.',
    remedy: 'Find the client that uses a wrong key. A key that has just worked still works.',
  },
  'too-many-unknown-tokens': {
    status: 429,
    title: "Too many unknown operators' tokens",
    cause: "Too many unknown operators' tokens came from your address.",
    remedy: 'Find the client that uses a wrong token. A token that has just worked still works.',
  },
  'too-many-passwords': {
    status: 429,
    title: 'Too many wrong passwords',
    cause: "Too many wrong passwords for operators' pages came from your address.",
    remedy: 'Wait, then use ADMIN_USER and ADMIN_PASSWORD.',
  },
  'too-many-readers': {
    status: 429,
    title: 'Too many readers',
    cause: 'As many readers as allowed are waiting for this feed, or for all feeds of the customer.',
    remedy: 'Read with wait=0, or end readers that are no longer needed.',
  },
  'too-many-tests': {
    status: 429,
    title: 'Too many test notifications',
    cause: 'Your webhooks, or this endpoint, had too many test notifications within a minute.',
    remedy: 'Wait, then send the next test notification.',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    cause: 'The service failed to handle the request. Its log has the reason.',
    remedy: 'Report the request_id to the operator.',
    retry: 'Yes, a POST with the same Idempotency-Key: part of the work may be done.',
  },
  'database-unavailable': {
    status: 503,
    title: 'Database unavailable',
    cause: 'The database cannot be reached, or cannot store anything now.',
    remedy: 'Send the request again later, a POST with the same Idempotency-Key.',
  },
  'no-api-process': {
    status: 503,
    title: 'No process with the role api',
    cause: 'No process with the role api answers on this machine now.',
    remedy: 'Ask a machine where one runs, or start one here.',
  },
  unanswered: {
    status: 503,
    title: 'Ended before it answered',
    cause:
      'The process that worked on the request ended before it answered. The request may have been carried out.',
    remedy:
      'Look whether it was, or send it again: a POST with the same Idempotency-Key is carried out once.',
  },
  'upload-interrupted': {
    status: 503,
    title: 'Upload interrupted',
    cause: 'The body of the import stopped arriving, and what had been received was deleted.',
    remedy: 'Send the whole import again.',
  },
  busy: {
    status: 503,
    title: 'Too many requests at once',
    cause:
      'The service has reached its limit of concurrent requests, or the part of it that one customer may use. The database may be slow.',
    remedy: 'Send the request again later, and fewer at a time.',
  },
  overloaded: {
    status: 503,
    title: 'Too much work at the same time',
    cause:
      'The large JSON bodies or dry runs that are being read, the searches that run, or the CSVs that are sent have reached their limit. Nothing was stored.',
    remedy: 'Send the request again later, and fewer at a time; an import in smaller bodies or as NDJSON.',
  },
} as const satisfies Record<string, Omit<ProblemText, 'retry'> & { retry?: string }>;

export type ProblemName = keyof typeof TEXTS;

/**
 * Every kind of error that the API answers with. Errors that a program would handle differently have different types, even if they
 * share a status. `type` in an answer is `/problems/<name>`, a page that shows these texts. docs/errors.md lists them too.
 */
export const PROBLEMS = Object.fromEntries(
  Object.entries(TEXTS).map(([name, text]) => [
    name,
    { retry: TEMPORARY.includes(text.status) ? AFTER_RETRY_AFTER : 'No.', ...text },
  ]),
) as Record<ProblemName, ProblemText>;
