import type { SentRequest } from './redirect-error.ts';
import { UnexpectedAnswerError } from './unexpected-answer-error.ts';

/** Members that an answer has at least, with their types. */
export type Members = Readonly<Record<string, 'array' | 'object' | 'string' | 'any'>>;

export const IMPORT: Members = { import: 'object' };

/** The answer to an import with `dry_run`. */
export const DRY_RUN: Members = { dry_run: 'object' };

/** The data of the answer to each operation, by its method and path. A test compares it with the OpenAPI document. */
export const ANSWERS: Readonly<Record<string, Members>> = {
  'GET /healthz': { version: 'string' },
  'GET /readyz': { mysql: 'string' },
  'GET /v1/webhooks': { webhooks: 'array' },
  'POST /v1/webhooks': { webhook: 'object' },
  'GET /v1/webhooks/{id}': { webhook: 'object' },
  'PATCH /v1/webhooks/{id}': { webhook: 'object' },
  'DELETE /v1/webhooks/{id}': { status: 'any' },
  'POST /v1/webhooks/{id}/test': { test: 'object' },
  'POST /v1/webhooks/{id}/rotate-secret': { webhook: 'object' },
  'POST /v1/webhooks/{id}/replay': { replay: 'object' },
  'GET /v1/webhooks/{id}/replays': { replays: 'array' },
  'GET /v1/replays/{id}': { replay: 'object' },
  'POST /v1/replays/{id}/cancel': { replay: 'object' },
  'GET /v1/webhooks/{id}/feed': { events: 'array', cursor: 'string' },
  'GET /v1/webhooks/{id}/deliveries': { deliveries: 'array' },
  'GET /v1/deliveries/{id}': { delivery: 'object' },
  'POST /v1/deliveries/{id}/redeliver': { delivery: 'object' },
  'GET /v1/transactions': { transactions: 'array' },
  'GET /v1/transactions/{id}': { transaction: 'object' },
  'GET /v1/transactions/{id}/deliveries': { deliveries: 'array' },
  'GET /v1/accounts': { accounts: 'array' },
  'POST /v1/accounts': { account: 'object' },
  'GET /v1/accounts/{id}': { accounts: 'array' },
  'PATCH /v1/accounts/{id}': { account: 'object' },
  'DELETE /v1/accounts/{id}': { account: 'object' },
  'GET /v1/accounts/{account_id}/transactions': { transactions: 'array' },
  'GET /v1/accounts/{id}/balances': { balances: 'array' },
  'GET /v1/accounts/{id}/statements': { statements: 'array' },
  'GET /v1/accounts/{id}/completeness': { completeness: 'object' },
  'GET /v1/banks': { banks: 'array' },
  'GET /v1/apikeys': { apikeys: 'array' },
  'POST /v1/apikeys': { apikey: 'object' },
  'DELETE /v1/apikeys/{id}': { status: 'any' },
  'GET /v1/settings/api': { api_secret: 'string' },
  'POST /v1/settings/api/rotate': { api_secret: 'any' },
  'GET /v1/imports': { imports: 'array' },
  'POST /v1/imports': IMPORT,
  'GET /v1/imports/{id}': IMPORT,
  'GET /v1/imports/{id}/errors': { import: 'object', errors: 'array', warnings: 'array' },
  'GET /v1/imports/{id}/files': { import: 'object', files: 'array' },
  'GET /v1/imports/{id}/duplicates': { import: 'object', duplicates: 'array' },
  'POST /v1/imports/{id}/retry': IMPORT,
  'POST /v1/imports/{id}/withdraw': { withdrawal: 'object' },
  'POST /v1/statements/{id}/withdraw': { withdrawal: 'object' },
  'GET /v1/withdrawals': { withdrawals: 'array' },
  'GET /v1/withdrawals/{id}': { withdrawal: 'object' },
  'GET /v1/conflicts': { conflicts: 'array' },
  'GET /v1/conflicts/{id}': { conflict: 'object' },
  'POST /v1/conflicts/{id}': { conflict: 'object' },
  'GET /v1/sources': { sources: 'array' },
  'POST /v1/sources': { source: 'object' },
  'GET /v1/sources/{id}': { source: 'object' },
  'PATCH /v1/sources/{id}': { source: 'object' },
  'DELETE /v1/sources/{id}': { status: 'any' },
  'POST /v1/sources/{id}/run': { source: 'object' },
  'POST /v1/sources/{id}/collect-again': { source: 'object' },
  'GET /v1/sources/{id}/runs': { runs: 'array' },
};

/** The same of the operations that only operators may call. */
export const ANSWERS_OF_OPERATORS: Readonly<Record<string, Members>> = {
  'GET /v1/customers': { customers: 'array' },
  'POST /v1/customers': { customer: 'object', accounts: 'array', webhooks: 'array' },
  'GET /v1/customers/{id}': { customer: 'object' },
  'PATCH /v1/customers/{id}': { customer: 'object' },
  'DELETE /v1/customers/{id}': { customer: 'object' },
  'GET /v1/webhook-templates': { webhook_templates: 'array' },
  'POST /v1/webhook-templates': { webhook_template: 'object' },
  'GET /v1/webhook-templates/{id}': { webhook_template: 'object' },
  'PATCH /v1/webhook-templates/{id}': { webhook_template: 'object' },
  'DELETE /v1/webhook-templates/{id}': { status: 'any' },
  'POST /v1/webhook-templates/{id}/rotate-secret': { webhook_template: 'object' },
  'POST /v1/webhook-templates/{id}/replay': { webhook_template: 'object' },
  'GET /v1/webhook-templates/{id}/webhooks': { webhooks: 'array' },
  'GET /v1/operator-tokens': { operator_tokens: 'array' },
  'POST /v1/operator-tokens': { operator_token: 'object' },
  'DELETE /v1/operator-tokens/{id}': { status: 'any' },
  'GET /v1/verdict': { status: 'string', troubles: 'array' },
  'GET /v1/audit': { changes: 'array' },
  'GET /v1/verify': { accounts: 'array', pending: 'array' },
};

/**
 * Checks that an answer has its data.
 * @param data the JSON of the answer.
 * @throws {UnexpectedAnswerError} naming the first member that is missing or has another type.
 */
export function requireMembers(
  request: SentRequest,
  response: Response,
  data: unknown,
  members: Members,
): void {
  for (const [name, type] of Object.entries(members)) {
    const actual = typeOf((data as Partial<Record<string, unknown>> | null)?.[name]);
    if (actual === type || (type === 'any' && actual !== 'undefined')) continue;
    const expected = type === 'any' ? 'a value' : `the type ${type}`;
    throw new UnexpectedAnswerError(request, response, { missing: `\`${name}\` with ${expected}` });
  }
}

const typeOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
