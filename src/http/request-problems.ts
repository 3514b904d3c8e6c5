import { NOT_UNCHANGED, type ProblemText } from './problem-text.ts';

/** Errors of a request that is wrong in itself, or that its sender may not make. */
export const REQUEST_PROBLEMS = {
  malformed: {
    status: 400,
    title: 'Malformed request',
    cause: 'The request is not valid HTTP/1.1, or its target or Host header is not valid.',
    remedy: 'Check how your client builds the request, and which proxies change it on the way.',
    retry: NOT_UNCHANGED,
  },
  'malformed-json': {
    status: 400,
    title: 'Malformed JSON',
    cause: 'The body is not valid JSON in UTF-8.',
    remedy: 'Build the body with a JSON library, and send it as UTF-8.',
    retry: NOT_UNCHANGED,
  },
  'malformed-multipart': {
    status: 400,
    title: 'Malformed multipart body',
    cause: 'The body is not multipart/form-data as its Content-Type says, or it breaks off.',
    remedy: 'Let your HTTP library build the body and its Content-Type with the boundary.',
    retry: NOT_UNCHANGED,
  },
  'missing-api-key': {
    status: 401,
    title: 'Missing API key',
    cause: 'The request has no API key, or the header cannot be read as one.',
    remedy: 'Send your API key in the header Authentication, or as Authorization: Bearer <api key>.',
    retry: NOT_UNCHANGED,
  },
  'unknown-api-key': {
    status: 401,
    title: 'Unknown API key',
    cause: 'The API key does not exist. It may be mistyped, or it was deleted.',
    remedy: 'Check the key. If it was deleted, use another one: GET /v1/apikeys lists those that exist.',
    retry: 'No. Many unknown keys from one address are answered with 429.',
  },
  unauthenticated: {
    status: 401,
    title: 'Sign-in required',
    cause: 'The page is for operators, and the name or the password is missing or wrong.',
    remedy: 'Sign in with the ADMIN_USER and ADMIN_PASSWORD of the service.',
    retry: NOT_UNCHANGED,
  },
  'missing-scope': {
    status: 403,
    title: 'Missing scope',
    cause: 'The API key does not have the scope that this operation needs.',
    remedy: 'Use a key with the scope that the detail names. POST /v1/apikeys creates one.',
    retry: NOT_UNCHANGED,
  },
  'limited-api-key': {
    status: 403,
    title: 'API key limited to some accounts',
    cause: 'The operation concerns all accounts of the customer, and the API key is limited to some of them.',
    remedy: 'Use an API key for all accounts.',
    retry: NOT_UNCHANGED,
  },
  'pending-for-other-accounts': {
    status: 403,
    title: 'Deliveries of other accounts are pending',
    cause:
      'The webhook may still have pending deliveries of accounts that the API key cannot see. A new endpoint or new headers would send them somewhere else.',
    remedy: 'Wait until they are delivered or failed, or use an API key for all accounts.',
    retry: 'Yes, when the webhook has fewer pending deliveries.',
  },
  forbidden: {
    status: 403,
    title: 'Access denied',
    cause:
      'The page is for operators. Without a password it answers only on the machine itself, and it accepts no changes from pages of other sites.',
    remedy: 'Open it on that machine, or set ADMIN_USER and ADMIN_PASSWORD.',
    retry: NOT_UNCHANGED,
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    cause:
      'The path or the object does not exist, or the API key cannot see the object. All of these get the same answer.',
    remedy: 'Check the path and the id. Use a key that can see the account.',
    retry: NOT_UNCHANGED,
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    cause: 'The path exists, but not for this method.',
    remedy: 'Use one of the methods in the header Allow.',
    retry: NOT_UNCHANGED,
  },
  'request-timeout': {
    status: 408,
    title: 'Request timeout',
    cause: 'The headers took longer than 15 seconds to arrive, or the whole request longer than 10 minutes.',
    remedy: 'Send the request without long pauses, or split a large import.',
    retry: 'Yes, on a new connection.',
  },
  'too-large': {
    status: 413,
    title: 'Body too large',
    cause: 'The body is larger than the limit that the detail names, or a dry run of it takes too long.',
    remedy: 'Split the import, or send it as NDJSON, which may be larger than JSON.',
    retry: NOT_UNCHANGED,
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported content type',
    cause: 'The operation does not accept this Content-Type.',
    remedy: 'Use one of the content types that the detail names.',
    retry: NOT_UNCHANGED,
  },
  'unsupported-content-encoding': {
    status: 415,
    title: 'Unsupported content encoding',
    cause: 'The body is compressed, which the operation does not accept.',
    remedy: 'Send the body uncompressed, without Content-Encoding.',
    retry: NOT_UNCHANGED,
  },
  invalid: {
    status: 422,
    title: 'Invalid request',
    cause: 'A parameter, a header or a field of the body has a value that is not allowed.',
    remedy: 'Correct each value that is listed in errors. Each entry names its path and what is allowed.',
    retry: NOT_UNCHANGED,
  },
  'unreadable-file': {
    status: 422,
    title: 'Unreadable file',
    cause:
      'The beginning of the statement file shows that it cannot be read: it is empty, in no format that is supported, fits no profile, or is packed in a way that is refused.',
    remedy: 'Do what the detail says. GET /v1/imports does not list it, because nothing of it was stored.',
    retry: NOT_UNCHANGED,
  },
  'endpoint-refused': {
    status: 422,
    title: 'Endpoint refused',
    cause:
      'Webhooks cannot be sent to this endpoint: its host does not exist in DNS, or leads to a private or special address only.',
    remedy:
      'Use an endpoint on a public address. The operator can allow other addresses with ALLOW_PRIVATE_ENDPOINTS.',
    retry: 'Yes, when the DNS record of the host has been created or changed.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Headers too large',
    cause:
      'The request line and the headers have more than 16 KiB in all, or there are more than 100 headers.',
    remedy: 'Shorten the URL and the headers.',
    retry: NOT_UNCHANGED,
  },
} as const satisfies Record<string, ProblemText>;
