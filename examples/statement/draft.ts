import type { AccountRef } from './accounts.ts';
import type { Party } from './parties.ts';

/** One movement before its balance is known. */
export interface Draft {
  ref: AccountRef;
  dc: 'Debit' | 'Credit';
  code: string;
  /** Hundredths of the account's currency. */
  kurus: bigint;
  description: string;
  /** YYYY-MM-DD */
  date: string;
  /** Of the day; movements of one minute keep the order in which they were written down. */
  minute: number;
  party: Party;
  /** What the bank sends where it sends no id of its own. */
  noId?: null | '';
}

/** One day of the month, with its date as banks write it in descriptions (DD.MM.YYYY). */
export interface Day {
  iso: string;
  dotted: string;
  dayOfMonth: number;
  weekday: number;
  /** At weekends and on 29 October, a holiday, only cards and FAST move money. */
  isWorkday: boolean;
}

export const NOBODY: Party = { name: null, id: null, iban: null };

/** Writes a movement of the day down: minute, account, direction, code, kuruş, description, party, missing id. */
export type Write = (
  minute: number,
  ref: AccountRef,
  dc: Draft['dc'],
  code: string,
  kurus: bigint,
  description: string,
  party?: Party,
  noId?: null | '',
) => void;
