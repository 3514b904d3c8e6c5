/** The server has answered with a redirect. It was not followed, because the API key would have gone to wherever it leads. */
export class RedirectError extends Error {
  override readonly name = 'RedirectError';
  /** The address that was redirected, without parameters. */
  readonly url: string;
  /** The origin that it leads to. null, if the response does not say it, as in a browser. */
  readonly target: string | null;

  constructor(request: Request, response: Response) {
    const url = withoutParameters(request);
    const target = targetOf(request, response);
    super(
      `${request.method} ${url} was answered with a redirect${target === null ? '' : ` to ${target}`}. ` +
        'It was not followed, so that the API key goes nowhere else. Give the address of the API itself as `url`, with the right scheme and host.',
    );
    this.url = url;
    this.target = target;
  }
}

/** What an error says of a request. */
export type SentRequest = Pick<Request, 'method' | 'url'>;

/** The address of a request, for an error. Parameters may be account data. */
export function withoutParameters({ url }: SentRequest): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** Only the origin: a server could put into the rest what it was sent. */
function targetOf(request: Request, response: Response): string | null {
  const location = response.headers.get('Location');
  if (location === null) return null;
  try {
    return new URL(location, request.url).origin;
  } catch {
    return null;
  }
}
