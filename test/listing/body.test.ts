import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderPage } from '../../src/listing/body.ts';
import type { ListedTransaction } from '../../src/listing/transactions.ts';

const movement = (description: string): ListedTransaction => ({
  id: 1,
  account_id: 2,
  name: 'ŞÜKRÜ "İNCE"',
  dc: 'Credit',
  code: '',
  amount: '-12.50',
  balance: '',
  description,
  date_issue: '2026-01-31',
  date_readed: '2026-01-31 18:39:16+03',
  opponent_id: ' 12345678901',
  opponent_iban: '',
  unique_id: 'a\\b\n',
  account: { id: 2, title: 'Ana 💶', bank_id: 3, bank: { id: 3, name: 'Banka' } },
});

/** A page as JSON.stringify writes it. */
const plain = (transactions: ListedTransaction[]) => JSON.stringify({ transactions });

describe('the body of a page', () => {
  it.each([0, 1, 49, 50, 51, 100, 101, 1_000])('is its JSON, of %i movements', (count) => {
    const page = Array.from({ length: count }, (_, i) => movement(`${i} ğ`));
    expect(renderPage(page).toString()).toBe(plain(page));
  });

  it('is its JSON, whatever its texts are', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 120 }), (texts) => {
        const page = texts.map(movement);
        expect(renderPage(page).toString()).toBe(plain(page));
      }),
    );
  });

  it('is its JSON when the texts are as long as they may be, and as the bytes of an earlier page are kept', () => {
    const small = [movement('kısa')];
    const kept = renderPage(small);
    const page = Array.from({ length: 60 }, (_, i) => movement(`${i} ${'€'.repeat(21_000)}`));
    expect(renderPage(page).toString()).toBe(plain(page));
    renderPage([movement('another')]);
    expect(kept.toString()).toBe(plain(small));
  });
});
