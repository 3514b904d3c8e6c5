import { AFTER_RETRY_AFTER, NOT_UNCHANGED, type ProblemText } from './problem-text.ts';

/** Errors of a request that could succeed in another state of the service, or at another time. */
export const STATE_PROBLEMS = {
  'request-in-progress': {
    status: 409,
    title: 'Request in progress',
    cause: 'Another request with this Idempotency-Key has not been answered yet.',
    remedy: 'Wait for its answer, or send the same request again to get it.',
    retry: AFTER_RETRY_AFTER,
  },
  'idempotency-key-reused': {
    status: 409,
    title: 'Idempotency key reused',
    cause: 'Another request was sent with this Idempotency-Key within the last 24 hours.',
    remedy: 'Use a new key for every new request, and the same key only to repeat a request unchanged.',
    retry: 'No. Send the request with a new key.',
  },
  'unfinished-import': {
    status: 409,
    title: 'Import not finished',
    cause: 'The API key cannot be deleted while an import that was sent with it is queued or running.',
    remedy: 'Follow the import that the detail names, and delete the key when it is done or failed.',
    retry: 'Yes, when the import is done or failed.',
  },
  'import-not-failed': {
    status: 409,
    title: 'Import not failed',
    cause: 'Only a failed import can be retried, and the status of this one is another.',
    remedy: 'Follow the import. A queued or running one needs no retry, and a done one is stored.',
    retry: 'Yes, when the import is failed.',
  },
  'import-not-retryable': {
    status: 409,
    title: 'Import cannot be retried',
    cause: 'The body of the import, or the API key that it was sent with, was deleted.',
    remedy: 'Send the file again as a new import.',
    retry: NOT_UNCHANGED,
  },
  'webhook-disabled': {
    status: 409,
    title: 'Webhook disabled',
    cause: 'Nothing is sent to a disabled webhook, so its deliveries cannot be requested again.',
    remedy: 'Correct the endpoint, set the status of the webhook to "active", and repeat the request.',
    retry: 'Yes, when the webhook is active.',
  },
  'webhook-deleted': {
    status: 409,
    title: 'Webhook deleted',
    cause: 'Nothing is sent to a deleted webhook, so its deliveries cannot be requested again.',
    remedy: 'Create a new webhook, and read past movements with GET /v1/transactions.',
    retry: NOT_UNCHANGED,
  },
  'account-deleting': {
    status: 409,
    title: 'Account being deleted',
    cause: 'The account of the movement is being deleted, so nothing of it is sent any more.',
    remedy: 'Nothing. The movement and its deliveries will be gone soon.',
    retry: NOT_UNCHANGED,
  },
  'rate-limited': {
    status: 429,
    title: 'Rate limit exceeded',
    cause: 'The API key has sent more requests than it may send in the current window.',
    remedy: 'Wait, and spread your requests. The headers RateLimit-Policy and RateLimit show what is left.',
    retry: AFTER_RETRY_AFTER,
  },
  'too-many-unknown-keys': {
    status: 429,
    title: 'Too many unknown API keys',
    cause: 'Too many requests with unknown API keys came from your address. The key was not looked up.',
    remedy:
      'Find the client at your address that uses a wrong key. A key that has just worked is not affected.',
    retry: AFTER_RETRY_AFTER,
  },
  'too-many-passwords': {
    status: 429,
    title: 'Too many wrong passwords',
    cause: 'Too many wrong passwords for the pages of operators came from your address.',
    remedy: 'Wait, then sign in with the ADMIN_USER and ADMIN_PASSWORD of the service.',
    retry: AFTER_RETRY_AFTER,
  },
  'too-many-tests': {
    status: 429,
    title: 'Too many test notifications',
    cause: 'Your webhooks, or this endpoint, have had too many test notifications within a minute.',
    remedy: 'Wait, then send the next test notification.',
    retry: AFTER_RETRY_AFTER,
  },
  internal: {
    status: 500,
    title: 'Internal error',
    cause: 'The service failed to handle the request. The operator finds the reason in the log.',
    remedy: 'Report the request_id to the operator.',
    retry: 'Yes, with the same Idempotency-Key if it is a POST: part of the work may have been done.',
  },
  'database-unavailable': {
    status: 503,
    title: 'Database unavailable',
    cause: 'The database cannot be reached.',
    remedy: 'Send the request again later. Use the same Idempotency-Key if it is a POST.',
    retry: AFTER_RETRY_AFTER,
  },
  'upload-interrupted': {
    status: 503,
    title: 'Upload interrupted',
    cause: 'The body of the import stopped arriving for so long that what had been received was deleted.',
    remedy: 'Send the whole import again.',
    retry: AFTER_RETRY_AFTER,
  },
  overloaded: {
    status: 503,
    title: 'Too many large imports at once',
    cause:
      'The service is reading as many large JSON bodies, or dry runs, as it can at once. Nothing of yours was stored.',
    remedy:
      'Send the import again later, in smaller bodies, or as NDJSON, which has no such limit. Send a dry run again later.',
    retry: AFTER_RETRY_AFTER,
  },
} as const satisfies Record<string, ProblemText>;
