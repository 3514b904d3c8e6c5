/** The headers of the API's answers, for /openapi.json. */

const text = (description: string, example: string, required = false) => ({
  description,
  required,
  schema: { type: 'string' as const },
  example,
});

/** Header components of the document. */
export const HEADERS = {
  'X-Request-Id': text(
    'Identifies the request in the log of the service. It is your own X-Request-Id if you sent a plain one.',
    '3f1c9a52-8d0e-4a57-9a4b-6d1f0c2b7e11',
    true,
  ),
  'RateLimit-Policy': text(
    'How many requests (q) the API key may send in how many seconds (w). Absent if the service has no rate limit, and if the API key is missing or unknown. See draft-ietf-httpapi-ratelimit-headers.',
    '"default";q=10000;w=10',
  ),
  RateLimit: text(
    'How many requests (r) the API key has left for the coming seconds (t). Absent when RateLimit-Policy is.',
    '"default";r=9998;t=7',
  ),
  'Retry-After': {
    description: 'How many seconds to wait before the next try. Absent if waiting does not help.',
    schema: { type: 'integer' as const, minimum: 1 },
    example: 5,
  },
  'WWW-Authenticate': text(
    'The scheme of the header Authorization. Only with 401.',
    'Bearer realm="ledgerbell"',
  ),
  Link: text(
    'The path of the next page, rel="next" (RFC 8288). Absent on the last page.',
    '</v1/transactions?starts=2025-11-01&cursor=dDE6MTAwMA>; rel="next"',
  ),
  'Ledgerbell-Searched-Through': text(
    'The date_readed of the last movement that was looked at. Only with q, an amount, opponent_iban or import_id: the page may be shorter than per_page, or empty, although Link leads on.',
    '2025-11-30 21:01:37+03',
  ),
  'Content-Disposition': text(
    'The name of a file. Only of a CSV.',
    'attachment; filename="movements-2025-11-01-2025-11-30.csv"',
  ),
  Location: text('The path of what was created.', '/v1/imports/1', true),
};

export type HeaderName = keyof typeof HEADERS;

export const refer = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const RETRIABLE = new Set([409, 429, 503]);

/** Who uses a listener: customers with API keys, or operators with tokens, who act for customers too. */
export type Audience = 'customers' | 'operators';

/**
 * The headers of an answer with this status, or of one with any error. `Cache-Control` is for caches, which do not read the document.
 * @param isLimited whether the answer tells how many requests the API key has left.
 */
export const headersOf = (status: number | 'default', isLimited: boolean): HeaderName[] => [
  'X-Request-Id',
  ...(isLimited ? (['RateLimit-Policy', 'RateLimit'] as const) : []),
  ...(status === 401 || status === 'default' ? (['WWW-Authenticate'] as const) : []),
  ...(status === 'default' || RETRIABLE.has(status) ? (['Retry-After'] as const) : []),
];
