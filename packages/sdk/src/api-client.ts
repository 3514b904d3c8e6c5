import { DRY_RUN, type Members, requireMembers } from './answers.ts';
import { ApiError } from './api-error.ts';
import { type Client, createClient } from './generated/client/index.ts';
import { type Repeating, sendRepeatedly } from './repeat.ts';
import { UnexpectedAnswerError } from './unexpected-answer-error.ts';

/** The client of the generated methods, and of the operators' methods: it sends, repeats, and checks answers. */

/** How requests are sent. */
export interface SendingOptions {
  /** How many times a request is sent again when the service or the network fails, or after 429. Default: 5. */
  retries?: number;
  /** The longest wait that `Retry-After` may ask for. If it asks for more, the request is refused at once. Default: 60. */
  maxRetryAfterSeconds?: number;
  /** Default: the runtime's own. */
  fetch?: typeof fetch;
}

/** Fills in the defaults. */
export const repeatingOf = ({
  retries = 5,
  maxRetryAfterSeconds = 60,
  fetch = globalThis.fetch,
}: SendingOptions): Repeating => ({ retries, maxRetryAfterSeconds, fetch });

/**
 * Creates a client whose requests are repeated, and whose refusals are thrown as `ApiError`.
 * @param headers with the API key or the token.
 * @param answers the data of the answer to each operation.
 */
export function createApiClient(
  url: string,
  headers: Record<string, string>,
  repeating: Repeating,
  answers: Readonly<Record<string, Members>>,
): Client {
  const client = createClient({
    baseUrl: url,
    headers,
    throwOnError: true,
    fetch: (input, init) => {
      const request = new Request(input, init);
      return sendRepeatedly(() => request.clone(), repeating);
    },
  });
  client.interceptors.response.use((response, request, options) => {
    const operation = `${request.method} ${options.url}`;
    const isDryRun = operation === 'POST /v1/imports' && options.query?.dry_run === 'true';
    const members = isDryRun ? DRY_RUN : (answers[operation] ?? {});
    const { responseValidator } = options;
    options.responseValidator = async (data) => {
      requireMembers(request, response, data, members);
      await responseValidator?.(data);
    };
    return response;
  });
  client.interceptors.error.use((error, response) =>
    response === undefined || error instanceof UnexpectedAnswerError ? error : new ApiError(error, response),
  );
  return client;
}

/**
 * Reads the pages of a listing, one after the other.
 * @param url the address of the API.
 * @param read asks for a page. Its cursor is absent for the first one.
 */
export async function* readPagesOf<T>(
  url: string,
  read: (cursor: { cursor?: string }) => Promise<{ data: T; response: Response }>,
): AsyncGenerator<T> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { data, response } = await read(cursor === undefined ? {} : { cursor });
    yield data;
    const next = /<([^<>]*)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
    cursor = next === undefined ? null : new URL(next, url).searchParams.get('cursor');
  }
}
