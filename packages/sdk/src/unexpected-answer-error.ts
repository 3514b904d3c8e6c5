import { type SentRequest, withoutParameters } from './redirect-error.ts';

/** A request was answered with success, and not with what the API answers: something else answers at this address. */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError';
  /** The address of the request, without parameters. */
  readonly url: string;
  readonly status: number;

  /** @param missing what the API would have answered with. @param kind of its answer. */
  constructor(
    request: SentRequest,
    response: Response,
    { missing, kind = 'JSON', cause }: { missing?: string; kind?: 'JSON' | 'CSV'; cause?: unknown } = {},
  ) {
    const url = withoutParameters(request);
    const type = response.headers.get('Content-Type') ?? 'no content type';
    super(
      `${request.method} ${url} was answered with ${response.status} and ${type}, and not with the ${kind} of the API${missing === undefined ? '' : `: it has no ${missing}`}. ` +
        'A proxy, a login page or another server may answer there: check `url`.',
      { cause },
    );
    this.url = url;
    this.status = response.status;
  }
}

/**
 * Reads the body of a success as JSON.
 * @returns the same response, whose body can be read again. Refusals are returned as they are.
 * @throws {UnexpectedAnswerError} when the body is not JSON, or there is none, as with 204.
 * @throws what fetch throws when the connection breaks within the body.
 */
export async function requireJson(request: Request, response: Response): Promise<Response> {
  if (!response.ok) return response;
  if (!/\bjson\b/i.test(response.headers.get('Content-Type') ?? '')) {
    await response.body?.cancel().catch(() => {});
    throw new UnexpectedAnswerError(request, response);
  }
  const text = await response.text();
  try {
    JSON.parse(text);
  } catch (error) {
    throw new UnexpectedAnswerError(request, response, { cause: error });
  }
  const { status, statusText, headers } = response;
  return new Response(text, { status, statusText, headers });
}

/**
 * Checks that a success is a CSV.
 * @returns the same response. Refusals are returned as they are. @throws {UnexpectedAnswerError}
 */
export async function requireCsv(request: Request, response: Response): Promise<Response> {
  if (!response.ok || /^text\/csv\b/i.test(response.headers.get('Content-Type') ?? '')) return response;
  await response.body?.cancel().catch(() => {});
  throw new UnexpectedAnswerError(request, response, { kind: 'CSV' });
}
