import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from '../dice.ts';
import { type Movement, makeMovements } from './movements.ts';
import { type Sent, sendUntilAcknowledged, type Upload, type Uploader } from './upload.ts';
import { waitUntilWithdrawn, withdraw } from './withdraw.ts';

const SECOND = 1_000;

/** How many of the last uploads a client may send again, or withdraw. */
const REMEMBERED = 6;

export interface ClientOptions extends Uploader {
  customerId: string;
  accountIds: readonly [string, ...string[]];
  /** Movements per second. */
  rate: number;
  /** When it is aborted, the current upload is completed, and then no more is sent. */
  stopping: AbortSignal;
}

/** An upload of movements, and the acknowledged imports that have them and are not withdrawn, the oldest first. */
interface Uploaded {
  upload: Upload;
  movements: readonly Sent[];
  importIds: string[];
}

/**
 * Imports movements, and sends what was not acknowledged again, with the same key and body. Now and then withdraws an upload, also one that
 * is still being delivered, and sends some of these again.
 */
export async function runClient(options: ClientOptions): Promise<void> {
  const { name, accountIds, customerId, rate, dice, record, stopping } = options;
  let made = 0;
  const remembered: Uploaded[] = [];
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
    const uploaded: Uploaded = { upload, movements: inHand, importIds: [] };
    await send(options, uploaded, upload);
    // Importing a statement a second time must change nothing.
    const [earlier] = dice.shuffle(remembered);
    if (earlier !== undefined && dice.whole(1, 10) === 1) await sendAgain(options, earlier);
    remembered.push(uploaded);
    if (remembered.length > REMEMBERED) remembered.shift();
    if (dice.whole(1, 6) === 1) await takeBack(options, dice.pick([uploaded, ...remembered]));
    await sleep((count / rate) * SECOND * (0.5 + dice.next()), undefined, { signal: stopping }).catch(
      () => {},
    );
  }
}

async function send(options: ClientOptions, uploaded: Uploaded, upload: Upload): Promise<void> {
  const importId = await sendUntilAcknowledged(options, upload);
  if (importId === null) return;
  uploaded.importIds.push(importId);
  for (const sent of uploaded.movements) {
    sent.acknowledged = true;
    sent.acknowledgedAt ??= Date.now();
  }
}

/** With its key, it would be the same import. */
const sendAgain = (options: ClientOptions, uploaded: Uploaded) =>
  send(options, uploaded, { ...uploaded.upload, key: null, slowly: 0 });

/** Withdraws imports of an upload, the oldest first, and sends it again in half of the cases, some before they are withdrawn. */
async function takeBack(options: ClientOptions, uploaded: Uploaded): Promise<void> {
  const { dice } = options;
  const withdrawn = uploaded.importIds.splice(0, dice.whole(1, uploaded.importIds.length));
  const acknowledged = uploaded.importIds.length > 0;
  for (const sent of uploaded.movements) Object.assign(sent, { acknowledged, isWithdrawn: true });
  for (const importId of withdrawn) {
    const id = await withdraw(options, `imports/${importId}`);
    if (dice.whole(0, 1) === 0) await waitUntilWithdrawn(options, id);
  }
  if (dice.whole(0, 1) === 0) await sendAgain(options, uploaded);
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
