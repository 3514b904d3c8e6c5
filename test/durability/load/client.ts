import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from '../dice.ts';
import { type Movement, makeMovements } from './movements.ts';

const SECOND = 1_000;
const REQUEST_TIMEOUT = 20 * SECOND;
/** An idempotency key that is still "being received" after this long belongs to an upload that broke off. */
const STUCK_AFTER = 60 * SECOND;

/** A movement that a client sent, and whether it was acknowledged. */
export interface Sent {
  customerId: string;
  accountId: string;
  dc: 'Debit' | 'Credit';
  acknowledged: boolean;
}

export interface ClientRecord {
  /** By unique_id. */
  sent: Map<string, Sent>;
  requests: number;
  /** Requests that were sent again, because the answer was lost or the error was retryable. */
  resent: number;
  /** Answers other than 202, by status or error code, with how often each was given. */
  refusals: Map<string, number>;
  /** Answers that a correct request must never get. */
  wrong: string[];
  /** Idempotency keys that were answered 409 for a minute. */
  stuckKeys: string[];
}

export const newClientRecord = (): ClientRecord => ({
  sent: new Map(),
  requests: 0,
  resent: 0,
  refusals: new Map(),
  wrong: [],
  stuckKeys: [],
});

interface Upload {
  type: string;
  body: string;
  key: string | null;
  /** Milliseconds over which the body is sent in parts; 0 sends it as a whole. */
  slowly: number;
}

export interface ClientOptions {
  name: string;
  url: string;
  apiKey: string;
  customerId: string;
  accountIds: readonly [string, ...string[]];
  /** Movements per second. */
  rate: number;
  dice: Dice;
  record: ClientRecord;
  /** When it is aborted, the current upload is completed, and then no more is sent. */
  stopping: AbortSignal;
}

/** Imports movements, and sends what was not acknowledged again, with the same key and body. */
export async function runClient(options: ClientOptions): Promise<void> {
  const { name, accountIds, customerId, rate, dice, record, stopping } = options;
  let made = 0;
  let earlier: Upload | null = null;
  while (!stopping.aborted) {
    const large = dice.whole(1, 40) === 1;
    const count = large ? 300 : dice.whole(1, 40);
    const first = made;
    made += count;
    const movements = makeMovements(dice, {
      count,
      accountIds,
      idOf: (index) => `${name}-${first + index}`,
      padding: large ? 3_800 : 0,
    });
    const inHand = movements.map(({ unique_id, account_id, dc }) => {
      const sent: Sent = { customerId, accountId: account_id, dc, acknowledged: false };
      record.sent.set(unique_id, sent);
      return sent;
    });
    const upload = toUpload(dice, movements, `${name}-${first}`, large);
    if (await sendUntilAcknowledged(options, upload)) for (const sent of inHand) sent.acknowledged = true;
    // Importing a statement a second time must change nothing.
    if (earlier !== null && dice.whole(1, 15) === 1) {
      await sendUntilAcknowledged(options, { ...earlier, key: null });
    }
    earlier = large ? earlier : upload;
    await sleep((count / rate) * SECOND * (0.5 + dice.next()), undefined, { signal: stopping }).catch(
      () => {},
    );
  }
}

function toUpload(dice: Dice, movements: readonly Movement[], key: string, large: boolean): Upload {
  const ndjson = large || dice.whole(0, 1) === 0;
  return {
    type: ndjson ? 'application/x-ndjson' : 'application/json',
    body: ndjson
      ? movements.map((movement) => JSON.stringify(movement)).join('\n')
      : JSON.stringify({ transactions: movements }),
    key: dice.whole(0, 1) === 0 ? key : null,
    slowly: large ? dice.whole(500, 3_000) : 0,
  };
}

/** @returns false when it was refused for good, which is then recorded. */
async function sendUntilAcknowledged(options: ClientOptions, upload: Upload): Promise<boolean> {
  const { record, dice } = options;
  const begun = performance.now();
  let { key } = upload;
  for (let tries = 0; ; tries += 1) {
    record.requests += 1;
    if (tries > 0) record.resent += 1;
    const answer = await send(options, { ...upload, key });
    if (answer === '202') return true;
    record.refusals.set(answer, (record.refusals.get(answer) ?? 0) + 1);
    if (answer === '409' && key !== null && performance.now() - begun > STUCK_AFTER) {
      record.stuckKeys.push(key);
      key = null;
    }
    if (/^4/.test(answer) && answer !== '409' && answer !== '429') {
      record.wrong.push(`${answer} for ${upload.type} of ${options.name}`);
      return false;
    }
    await sleep(300 + 700 * dice.next());
  }
}

/** @returns the status, or the code of the error if there was no answer. */
async function send({ url, apiKey }: ClientOptions, { type, body, key, slowly }: Upload): Promise<string> {
  try {
    const response = await fetch(`${url}/v1/imports`, {
      method: 'POST',
      headers: {
        Authentication: apiKey,
        'Content-Type': type,
        ...(key === null ? {} : { 'Idempotency-Key': key }),
      },
      body: slowly === 0 ? body : inPieces(body, slowly),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT),
      ...(slowly === 0 ? {} : { duplex: 'half' }),
    });
    const answer = await response.text();
    // An answer that broke off counts as lost, whatever its status.
    if (response.status === 202 && !('import' in JSON.parse(answer))) return 'not an import';
    return String(response.status);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
    return cause instanceof Error ? cause.name : 'unknown';
  }
}

const PORTIONS = 10;

function inPieces(body: string, milliseconds: number): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(body);
  const size = Math.ceil(bytes.length / PORTIONS);
  let sent = 0;
  return new ReadableStream({
    async pull(controller) {
      if (sent >= bytes.length) return controller.close();
      await sleep(milliseconds / PORTIONS);
      controller.enqueue(bytes.subarray(sent, sent + size));
      sent += size;
    },
  });
}
