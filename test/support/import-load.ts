import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { movement } from './movements.ts';
import { send } from './raw-http.ts';

/** Sends JSON as a client does: after a 503 it waits, and sends the same request again. */
export async function postUntilAnswered(url: string, key: string, body: unknown) {
  const headers = {
    Authentication: key,
    'Content-Type': 'application/json',
    'Idempotency-Key': randomUUID(),
  };
  for (;;) {
    const answer = await send(url, { method: 'POST', headers, body: JSON.stringify(body) });
    if (answer.status !== 503) return answer;
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    await sleep(100);
  }
}

/**
 * Lets clients import one movement after the other.
 * @param urls of api processes; the clients are spread over them.
 */
export function startImportLoad(
  urls: readonly string[],
  { key, account, clients }: { key: string; account: string; clients: number },
) {
  let isOver = false;
  /** The `unique_id`, which is the description too. */
  const accepted: string[] = [];
  const statuses = new Set<number>();
  const running = Array.from({ length: clients }, async (_, client) => {
    for (let i = 0; !isOver; i += 1) {
      const unique_id = `${client}-${i}`;
      const { status } = await postUntilAnswered(`${urls[client % urls.length]}/v1/imports`, key, {
        transactions: [movement(account, { unique_id, description: unique_id })],
      });
      statuses.add(status);
      accepted.push(unique_id);
    }
  });
  return {
    accepted,
    /** Lets each client finish its import. @returns the statuses of all answers but 503. */
    async stop(): Promise<number[]> {
      isOver = true;
      await Promise.all(running);
      return [...statuses];
    },
  };
}
