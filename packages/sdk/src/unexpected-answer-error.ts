import { withoutParameters } from './redirect-error.ts';

/** A request was answered with success, and not with what the API answers: something else answers at this address. */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError';
  /** The address of the request, without parameters. */
  readonly url: string;
  readonly status: number;

  constructor(request: Request, response: Response, cause?: unknown) {
    const url = withoutParameters(request);
    const type = response.headers.get('Content-Type') ?? 'no content type';
    super(
      `${request.method} ${url} was answered with ${response.status} and ${type}, and not with the JSON of the API. ` +
        'A proxy, a login page or another server may answer there: check `url`.',
      { cause },
    );
    this.url = url;
    this.status = response.status;
  }
}

/**
 * Reads the body of a success as JSON.
 * @returns the same response, whose body can be read again. Refusals, and 204, are returned as they are.
 * @throws {UnexpectedAnswerError} when the body is not JSON.
 */
export async function requireJson(request: Request, response: Response): Promise<Response> {
  if (!response.ok || response.status === 204) return response;
  if (!/\bjson\b/i.test(response.headers.get('Content-Type') ?? '')) {
    await response.body?.cancel().catch(() => {});
    throw new UnexpectedAnswerError(request, response);
  }
  const text = await response.text();
  try {
    JSON.parse(text);
  } catch (error) {
    throw new UnexpectedAnswerError(request, response, error);
  }
  const { status, statusText, headers } = response;
  return new Response(text, { status, statusText, headers });
}
