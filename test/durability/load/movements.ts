import type { Dice } from '../dice.ts';

/** Part of every description. Wherever else it is found, the content of movements has leaked. */
export const MARKER = 'EFTGÖNDERENMÜŞTERİ';

export interface Movement {
  account_id: string;
  dc: 'Debit' | 'Credit';
  unique_id: string;
  [field: string]: string | null;
}

/** Movements with unique_ids, which also begin each description, so that a notification can be traced to its movement. */
export function makeMovements(
  dice: Dice,
  {
    count,
    accountIds,
    idOf,
    padding,
  }: {
    count: number;
    accountIds: readonly [string, ...string[]];
    idOf: (index: number) => string;
    padding: number;
  },
): Movement[] {
  return Array.from({ length: count }, (_, index) => {
    const unique_id = idOf(index);
    return {
      account_id: dice.pick(accountIds),
      dc: dice.pick(['Debit', 'Credit']),
      code: 'EFT',
      amount: `${dice.whole(0, 99_999)}.${String(dice.whole(0, 99)).padStart(2, '0')}`,
      balance: dice.whole(0, 3) === 0 ? null : `${dice.whole(-9_999, 99_999)}.5`,
      description: `${unique_id} ${MARKER} ŞÜKRÜ & "İnce" ${'.'.repeat(padding)}`,
      date_issue: `2026-0${dice.whole(1, 9)}-${dice.whole(10, 28)}`,
      opponent_id: dice.whole(0, 1) === 0 ? null : ' 12345678901',
      opponent_iban: null,
      unique_id,
      name: null,
    };
  });
}
