/** Movements as a bank would send them, each with its own unique_id, which begins with `run`. */
export function makeMovements(count: number, accountId: string, run: string) {
  return Array.from({ length: count }, (_, i) => ({
    account_id: accountId,
    dc: i % 2 === 0 ? 'Credit' : 'Debit',
    code: 'EFT',
    amount: `${100 + (i % 9_000)}.${String(i % 100).padStart(2, '0')}`,
    balance: `${10_000 + i}.00`,
    description: `EFT GÖNDEREN ŞÜKRÜ ÖZGÜR İNCE AÇIKLAMA KİRA ÖDEMESİ ${i}`,
    date_issue: '2026-01-15',
    opponent_id: '12345678901',
    opponent_iban: 'TR330006100519786457841326',
    unique_id: `${run}-${i}`,
    name: 'ŞÜKRÜ ÖZGÜR İNCE',
  }));
}

export const toNdjson = (movements: readonly object[]) =>
  movements.map((it) => JSON.stringify(it)).join('\n');
