import type { Detail } from './map.ts';

/**
 * Type codes of the items of a deposit, or of a debit. The code before each is that of the whole: 116 is an item of a lockbox deposit
 * (115), and 136, 143, 156, 345 and 452 likewise (BAI2 specification, appendix A).
 */
const ITEMS = new Set(['116', '136', '143', '156', '345', '452']);

/**
 * Finds the items of an account that are listed right after their whole, and would count twice. Items that no whole stands before, and
 * items that are more than what is left of it, are transactions of their own.
 */
export function createItems() {
  let whole: { itemCode: string; line: number; left: bigint } | null = null;

  return {
    /** @returns why a transaction is a part of the one before it, as a sentence; null: it is none */
    partOf({ events, digits }: Detail): string | null {
      const event = events.at(-1);
      if (event?.type !== 'entry' || digits === null) return null;
      const { code, line } = event.entry;
      if (whole !== null && code === whole.itemCode && digits <= whole.left) {
        whole.left -= digits;
        return `The item (${code}) is a part of the transaction at line ${whole.line}, which counts as a whole.`;
      }
      const itemCode = String(Number(code) + 1);
      whole = ITEMS.has(itemCode) ? { itemCode, line, left: digits } : null;
      return null;
    },
  };
}
