import type { NotifiedMovement } from '../../src/delivery/run/types.ts';

/** What the test vectors are made of. */

export const API_SECRET = 'api-secret-of-the-vectors-ğ';

export const MOVEMENT: NotifiedMovement = {
  transaction_id: '1',
  dc: 'Credit',
  code: 'EFT',
  amount: '1250.00',
  balance: '5000.50',
  currency: 'TRY',
  description: 'FATURA 5137',
  account_id: '1',
  account: 'Ana Hesap',
  bank: 'Garanti BBVA',
  opponent_id: '12345678901',
  opponent_iban: 'TR330006100519786457841326',
  date_issue: '2026-02-01',
};

/** Text that a receiver gets wrong when it reads the body in another encoding, or writes it again. */
export const TURKISH: NotifiedMovement = {
  ...MOVEMENT,
  account: 'Şube İĞÜÖÇ ığüşöç',
  description: 'ÇİĞDEM ŞEN + %10 & EFT=1 "iade" 🎂 a/b\\c\t<x>',
  opponent_id: ' 0012',
};

export const EMPTY: NotifiedMovement = {
  ...MOVEMENT,
  dc: 'Debit',
  amount: '-0.01',
  code: null,
  balance: null,
  description: null,
  opponent_id: null,
  opponent_iban: null,
};

/** As the database has them, with three decimals. */
export const DINARS: NotifiedMovement = {
  ...MOVEMENT,
  amount: '0.500',
  balance: '1234.567',
  currency: 'KWD',
};
export const YEN: NotifiedMovement = {
  ...MOVEMENT,
  amount: '1200.000',
  balance: '98765.000',
  currency: 'JPY',
};
