import type { AccountRef } from './accounts.ts';
import type { Draft } from './draft.ts';
import { createMonth } from './month.ts';

const ROWS = 520;
/** In kuruş (cents on account 3). */
const OPENING: Record<AccountRef, bigint> = { '1': 98_532_075n, '2': 31_250_040n, '3': 1_845_010n };

/** One line of the example statement. `account_id` is the `ref` of accounts.json until an importer replaces it. */
export interface Row {
  account_id: string;
  dc: 'Debit' | 'Credit';
  code: string;
  amount: string;
  balance: string;
  description: string;
  date_issue: string;
  opponent_id: string | null;
  opponent_iban: string | null;
  unique_id: string | null;
  name: string | null;
}

/** The 520 rows, each account's balance running from its opening balance. */
export function createRows(): Row[] {
  const balances = { ...OPENING };
  return createMonth(ROWS).map((draft, at) => {
    balances[draft.ref] += draft.dc === 'Credit' ? draft.kurus : -draft.kurus;
    return {
      account_id: draft.ref,
      dc: draft.dc,
      code: draft.code,
      amount: decimal(draft.kurus),
      balance: decimal(balances[draft.ref]),
      description: draft.description,
      date_issue: draft.date,
      opponent_id: opponentId(draft),
      opponent_iban: draft.party.iban,
      unique_id: draft.noId === undefined ? bankId(draft, at) : draft.noId,
      name: draft.party.name,
    };
  });
}

function decimal(kurus: bigint): string {
  return `${kurus / 100n}.${String(kurus % 100n).padStart(2, '0')}`;
}

/** A bank that keeps eleven places for every id sends the ten digits of a company with a space before them. */
function opponentId({ code, party }: Draft): string | null {
  return code === 'HVL' ? (party.id?.padStart(11, ' ') ?? null) : party.id;
}

function bankId({ ref, date }: Draft, at: number): string {
  const day = date.replaceAll('-', '');
  const number = String(at + 1).padStart(6, '0');
  return ref === '1' ? `GB${day}-${number}` : `${day}${ref}${number}`;
}
