import { type Dispatcher, Pool } from 'undici';
import { monotonic } from './clock.ts';
import { makeMovements } from './movements.ts';

/**
 * The client that sends single movements, in a process of its own so that nothing else delays it. It sends one movement per
 * POST /v1/imports over several connections, the next one as soon as the previous one is answered. All bodies are made before
 * the first request. The parent sends Orders, any number of times. Each time it gets Sent when all requests are answered.
 */
export interface Orders {
  /** The connections go to these in turn. */
  origins: readonly string[];
  /** Those of one account always go to the same one instead. */
  byAccount?: boolean;
  connections: number;
  /** The movements are for these accounts in turn. The baseline needs no key. */
  accounts: readonly { accountId: string; key?: string | undefined }[];
  movements: number;
  /** Distinguishes the movements of one round from those of another. */
  run: string;
}

export interface Sent {
  /** Monotonic milliseconds. */
  startedAt: number;
  /** Milliseconds from each request to its answer. */
  waits: number[];
}

process.on('message', async (orders: Orders) => {
  const { origins, connections } = orders;
  const requests = prepare(orders);
  const pools = origins.map(
    (origin) => new Pool(origin, { connections: Math.ceil(connections / origins.length) }),
  );
  const waits: number[] = [];
  let next = 0;
  const startedAt = monotonic();
  const sendNext = async (_: unknown, connection: number) => {
    for (let at = next++; at < requests.length; at = next++) {
      const origin = orders.byAccount ? at % orders.accounts.length : connection;
      const sentAt = monotonic();
      await post(pools[origin % pools.length] as Pool, requests[at] as Dispatcher.DispatchOptions);
      waits.push(monotonic() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: connections }).map(sendNext));
  await Promise.all(pools.map((pool) => pool.close()));
  process.send?.({ startedAt, waits } satisfies Sent);
});

function prepare({ accounts, movements, run }: Orders): Dispatcher.DispatchOptions[] {
  return makeMovements(movements, '', run).map((movement, i) => {
    const { accountId, key } = accounts[i % accounts.length] ?? { accountId: '' };
    return {
      method: 'POST',
      path: '/v1/imports',
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { authentication: key }) },
      body: Buffer.from(JSON.stringify({ transactions: [{ ...movement, account_id: accountId }] })),
    };
  });
}

/** Uses undici's `dispatch`, which costs half as much as its `request`. @throws when the movement is refused. */
const post = (pool: Pool, options: Dispatcher.DispatchOptions) =>
  new Promise<void>((resolve, reject) => {
    let status = 0;
    pool.dispatch(options, {
      onRequestStart() {},
      onResponseStart(_controller, statusCode) {
        status = statusCode;
      },
      onResponseData() {},
      onResponseEnd() {
        if (status === 202) resolve();
        else reject(new Error(`a single movement was answered ${status}`));
      },
      onResponseError: (_controller, error) => reject(error),
    });
  });
