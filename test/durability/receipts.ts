import { readFileSync } from 'node:fs';

/** One POST that reached a receiver. */
export interface Receipt {
  webhookId: string;
  /** `webhook-id`: msg_<webhook id>-<transaction id>, and `-withdrawn` after it if the movement was withdrawn. */
  message: string;
  transactionId: string;
  /** The movement's name: the first word of its description. */
  name: string;
  /** Milliseconds since 1970. */
  at: number;
  /** `normal`, or how the receiver misbehaved. */
  mode: string;
  /** The error of its signature or hash; empty if it is genuine. */
  problem: string;
  /** When a complete answer with status 200 had been passed to the network; null if never. */
  answeredAt: number | null;
}

/** The line for a POST that was received, written before it is answered, and the line for its answer, written when it is sent. */
export const arrivalLine = (number: string, receipt: Omit<Receipt, 'answeredAt'>): string =>
  `A\t${number}\t${JSON.stringify(receipt)}\n`;
export const answerLine = (number: string, at: number): string => `F\t${number}\t${at}\n`;

/** Reads what the receivers have written, in order of arrival. A line that a SIGKILL cut off is left out. */
export function readReceipts(file: string): Receipt[] {
  const receipts = new Map<string, Receipt>();
  for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
    const [kind, number = '', rest = ''] = line.split('\t');
    const receipt = receipts.get(number);
    if (kind === 'A') receipts.set(number, { ...(JSON.parse(rest) as Receipt), answeredAt: null });
    else if (kind === 'F' && receipt !== undefined) receipt.answeredAt = Number(rest);
  }
  return [...receipts.values()];
}
