import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from '../dice.ts';

const SECOND = 1_000;
const REQUEST_TIMEOUT = 20 * SECOND;
/** An idempotency key that is still "being received" after this long belongs to an upload that broke off. */
const STUCK_AFTER = 60 * SECOND;

/** A movement that a client sent, and what became of that. */
export interface Sent {
  customerId: string;
  accountId: string;
  dc: 'Debit' | 'Credit';
  /** An import that has it was acknowledged, and is not withdrawn. */
  acknowledged: boolean;
  /** An import that has it was withdrawn. The movement may have been sent again since. */
  isWithdrawn?: boolean;
  /** Milliseconds since 1970 of the 202; absent for what statements bring. */
  acknowledgedAt?: number;
  /** How many equal movements of this name there are. */
  copies: number;
}

export interface ClientRecord {
  /** By name. */
  sent: Map<string, Sent>;
  requests: number;
  /** What each withdrawal withdraws, by its id, such as `imports/12`. */
  withdrawals: Map<string, string>;
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
  withdrawals: new Map(),
  requests: 0,
  resent: 0,
  refusals: new Map(),
  wrong: [],
  stuckKeys: [],
});

export interface Upload {
  type: string;
  body: string | Buffer<ArrayBuffer>;
  key: string | null;
  /** Milliseconds over which the body is sent in parts; 0 sends it as a whole. */
  slowly: number;
}

/** Who uploads, and where what happens is recorded. */
export interface Uploader {
  name: string;
  /** Its URL is another one for each request. */
  target: { readonly url: string };
  apiKey: string;
  dice: Dice;
  record: ClientRecord;
}

/**
 * Sends an upload, and sends it again until it is acknowledged.
 * @returns the id of the import; null: it was refused for good, which is then recorded.
 */
export async function sendUntilAcknowledged(options: Uploader, upload: Upload): Promise<string | null> {
  const { record, dice } = options;
  const begun = performance.now();
  let { key } = upload;
  for (let tries = 0; ; tries += 1) {
    record.requests += 1;
    if (tries > 0) record.resent += 1;
    const { answer, importId } = await send(options, { ...upload, key });
    if (importId !== null) return importId;
    record.refusals.set(answer, (record.refusals.get(answer) ?? 0) + 1);
    if (answer === '409' && key !== null && performance.now() - begun > STUCK_AFTER) {
      record.stuckKeys.push(key);
      key = null;
    }
    if (/^4/.test(answer) && answer !== '409' && answer !== '429') {
      record.wrong.push(`${answer} for ${upload.type} of ${options.name}`);
      return null;
    }
    await sleep(300 + 700 * dice.next());
  }
}

interface Answer {
  /** The status, or the code of the error if there was no answer. */
  answer: string;
  /** null: the upload was not acknowledged. */
  importId: string | null;
}

async function send({ target, apiKey }: Uploader, { type, body, key, slowly }: Upload): Promise<Answer> {
  try {
    const response = await fetch(`${target.url}/v1/imports`, {
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
    // An answer that broke off counts as lost, whatever its status.
    const text = await response.text();
    if (response.status !== 202) return { answer: String(response.status), importId: null };
    const { import: acknowledged } = JSON.parse(text) as { import?: { id: number } };
    return acknowledged === undefined
      ? { answer: 'not an import', importId: null }
      : { answer: '202', importId: String(acknowledged.id) };
  } catch (error) {
    return { answer: codeOf(error), importId: null };
  }
}

/** The code of the error of a request that got no answer. */
export function codeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.name : 'unknown';
}

const PORTIONS = 10;

function inPieces(body: Upload['body'], milliseconds: number): ReadableStream<Uint8Array> {
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
