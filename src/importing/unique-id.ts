import { hash } from 'node:crypto';
import type { Movement } from './movement.ts';
import { createTally } from './tally.ts';

/**
 * Creates a function that returns the unique id of each movement of one import.
 *
 * A movement with a `unique_id` keeps it, byte by byte. A movement without one (absent, null or blank) gets
 * `content:<sha256 of account, date, dc, amount, balance, description>:<n>`, where n counts the movements of the same
 * content within this import, from 1. Two equal card payments on one day are therefore two movements, while the same
 * statement sent again gives the same ids and is stored once.
 *
 * Because of this count, a resumed import must be read from its first row.
 */
export function createUniqueIds(): (movement: Movement) => string {
  let countIn: ReturnType<typeof createTally> | null = null;
  return (movement) => {
    if (movement.unique_id !== null && movement.unique_id.trim() !== '') return movement.unique_id;
    const { account_id, date_issue, dc, amount, balance, description } = movement;
    const content = hash(
      'sha256',
      JSON.stringify([account_id, date_issue, dc, canonical(amount), canonical(balance), description]),
      'buffer',
    );
    // Created on first use: it takes 12 KB, and most imports bring their own ids.
    countIn ??= createTally();
    return `content:${content.toString('hex')}:${countIn(content)}`;
  };
}

/** "7", "07.0" and "7.00" are the same amount and must give the same id. */
function canonical(money: string | null): string | null {
  if (money === null) return null;
  const [, sign = '', whole = '', fraction = ''] = /^(-?)0*(\d+?)(?:\.(\d*))?$/.exec(money) ?? [];
  const digits = `${whole}.${fraction.padEnd(2, '0')}`;
  return digits === '0.00' ? digits : sign + digits;
}
