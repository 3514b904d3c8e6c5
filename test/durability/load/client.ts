import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from '../dice.ts';
import { type Movement, makeMovements } from './movements.ts';
import { type Sent, sendUntilAcknowledged, type Upload, type Uploader } from './upload.ts';

const SECOND = 1_000;

export interface ClientOptions extends Uploader {
  customerId: string;
  accountIds: readonly [string, ...string[]];
  /** Movements per second. */
  rate: number;
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
      const sent: Sent = { customerId, accountId: account_id, dc, acknowledged: false, copies: 1 };
      record.sent.set(unique_id, sent);
      return sent;
    });
    const upload = toUpload(dice, movements, `${name}-${first}`, large);
    if (await sendUntilAcknowledged(options, upload)) {
      const acknowledgedAt = Date.now();
      for (const sent of inHand) Object.assign(sent, { acknowledged: true, acknowledgedAt });
    }
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
