import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import type { Mode } from './receiver.process.ts';

/** One POST that reached the receiver. */
export interface Receipt {
  number: string;
  /** When its first byte was read. Milliseconds since 1970. */
  at: number;
  /** `ledgerbell-customer`. */
  customerId: string;
  /** `ledgerbell-external-id`, decoded. */
  externalId: string;
  /** `webhook-id`: msg_<webhook id>-<transaction id>. */
  message: string;
  transactionId: string;
  /** The movement's name: the first word of its description. */
  name: string;
  mode: Mode;
  /** How many signatures it has: two after a rotation of the secret. */
  signatures: number;
  /** POSTs that the receiver had in hand, with this one. */
  inFlight: number;
  hash: 'verified' | 'wrong' | 'not checked';
  /** Why it is not genuine; empty: it is. */
  problem: string;
  /** When a whole answer with status 200 had been passed to the network; null: never. */
  answeredAt: number | null;
}

/** The line for a POST, written before it is answered, and the line for its answer. */
export const arrivalLine = (receipt: Omit<Receipt, 'answeredAt'>): string =>
  `A\t${JSON.stringify(receipt)}\n`;
export const answerLine = (number: string, at: number): string => `F\t${number}\t${at}\n`;

/** Follows the file of a receiver. */
export interface ReceiptLog {
  /** All POSTs until now, in the order of their arrival. */
  read(): readonly Receipt[];
}

const CHUNK = 1 << 20;

/** Reads only what has been written since the last time. A line that a SIGKILL has cut off is joined to the next, and left out. */
export function followReceipts(file: string): ReceiptLog {
  const receipts = new Map<string, Receipt>();
  const all: Receipt[] = [];
  let position = 0;
  let rest = Buffer.alloc(0);

  function take(line: string): void {
    const [kind, first = '', second = ''] = line.split('\t');
    if (kind === 'A' && first.endsWith('}')) {
      const receipt: Receipt = { ...JSON.parse(first), answeredAt: null };
      receipts.set(receipt.number, receipt);
      all.push(receipt);
    } else if (kind === 'F') {
      const receipt = receipts.get(first);
      if (receipt !== undefined) receipt.answeredAt = Number(second);
    }
  }

  return {
    read() {
      if (!existsSync(file)) return all;
      const input = openSync(file, 'r');
      const buffer = Buffer.alloc(CHUNK);
      for (;;) {
        const length = readSync(input, buffer, 0, CHUNK, position);
        if (length === 0) break;
        position += length;
        const text = Buffer.concat([rest, buffer.subarray(0, length)]);
        const end = text.lastIndexOf(10) + 1;
        rest = text.subarray(end);
        for (const line of text.subarray(0, end).toString().split('\n')) take(line);
      }
      closeSync(input);
      return all;
    },
  };
}
