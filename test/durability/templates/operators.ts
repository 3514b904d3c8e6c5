import { setTimeout as sleep } from 'node:timers/promises';

/** A client of the operators' API that sends a request again until it is answered. */

const REQUEST_TIMEOUT = 20_000;
const PAUSE = 200;

export interface Operators {
  /**
   * @param options.customer the header Ledgerbell-Customer. @param options.key the header Idempotency-Key.
   * @throws when the answer is a 4xx that a correct request must not get.
   */
  call<Answer>(
    method: string,
    path: string,
    options?: { body?: unknown; customer?: string; key?: string },
  ): Promise<Answer>;
  /** Requests that were sent again, because the answer was lost, or said so. */
  readonly resent: number;
}

export function createOperators(url: string, token: string, signal: AbortSignal): Operators {
  let resent = 0;

  async function send(
    method: string,
    path: string,
    { body, customer, key }: Parameters<Operators['call']>[2] = {},
  ) {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(customer === undefined ? {} : { 'ledgerbell-customer': customer }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT),
    });
    return { status: response.status, text: await response.text() };
  }

  return {
    async call<Answer>(method: string, path: string, options: Parameters<Operators['call']>[2] = {}) {
      for (;;) {
        signal.throwIfAborted();
        const { status, text } = await send(method, path, options).catch((error: unknown) => ({
          status: 0,
          text: String(error),
        }));
        if (status >= 200 && status < 300) return JSON.parse(text) as Answer;
        if (status >= 400 && status < 500 && status !== 409 && status !== 429)
          throw new Error(`${method} ${path} answers ${status}: ${text}`);
        resent += 1;
        await sleep(PAUSE);
      }
    },
    get resent() {
      return resent;
    },
  };
}

/** Does work for each item, some at a time, in the order of the items. */
export async function forEachOf<Item>(
  items: Iterable<Item>,
  atATime: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items[Symbol.iterator]();
  const take = async () => {
    for (let next = left.next(); !next.done; next = left.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: atATime }, take));
}
