import { hash } from 'node:crypto';
import type { Movement } from '../movement.ts';

/** The longest amount, with two decimals, that is exact in a JavaScript number as hundredths. */
const LONGEST = 16;
const WORD = 2 ** 32;
/** Hundredths take 50 bits, so this bit of the upper word is free. */
const DEBIT = 2 ** 30;

/**
 * Creates a function that makes a key of 64 bits, for a tally, of a direction and an amount with two decimals. Nearly all amounts are
 * short enough to be the key themselves, so two of them never share it, and making it takes a tenth of the time of a hash. A longer
 * one is hashed. The same buffer is returned each time.
 */
export function createAmountKeys(): (dc: Movement['dc'], amount: string) => Buffer {
  const key = Buffer.alloc(8);
  return (dc, amount) => {
    if (amount.length > LONGEST) return hash('sha256', `${dc} ${amount}`, 'buffer');
    const hundredths = Number(amount.slice(0, -3) + amount.slice(-2));
    const low = hundredths % WORD;
    key.writeUInt32BE((hundredths - low) / WORD + (dc === 'Debit' ? DEBIT : 0), 0);
    key.writeUInt32BE(scatter(low), 4);
    return key;
  };
}

/**
 * Another number of 32 bits for each. Amounts often end with zeros, and would come to lie side by side in a tally.
 * Source: the finalizer of MurmurHash3, which is a bijection.
 */
function scatter(number: number): number {
  let mixed = number;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
