import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderPage, renderTransaction } from '../../src/movements/body.ts';
import type { ListedTransaction } from '../../src/movements/transactions.ts';

const account = { id: 2, title: 'Ana "💶"', currency: 'EUR', bank_id: 3, bank: { id: 3, name: 'Banka' } };

const movement = (text: string | null): ListedTransaction => ({
  id: '9007199254740991',
  account_id: '2',
  name: text,
  dc: 'Credit',
  code: text,
  amount: '-12.50',
  balance: text === null ? null : '0.00',
  description: text,
  date_issue: '2026-01-31',
  date_readed: '2026-01-31 18:39:16+03',
  opponent_id: text,
  opponent_iban: text,
  unique_id: text ?? '',
  account,
});

/** The type of a listed movement: ids are integers, and only `name` may be null. */
const shown = (text: string | null) => ({
  ...movement(text),
  id: 9007199254740991,
  account_id: 2,
  code: text ?? '',
  balance: text === null ? '' : '0.00',
  description: text ?? '',
  opponent_id: text ?? '',
  opponent_iban: text ?? '',
});

const plain = (texts: readonly (string | null)[]) => JSON.stringify({ transactions: texts.map(shown) });
const render = (texts: readonly (string | null)[]) => renderPage(texts.map(movement)).toString();

describe('the body of a page of movements', () => {
  it.each([0, 1, 2, 1_000])('is its JSON with %i movements', (count) => {
    const texts = Array.from({ length: count }, (_, i) => (i % 3 === 0 ? null : `${i} ğ`));
    expect(render(texts)).toBe(plain(texts));
  });

  it('is its JSON with any texts', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.string({ unit: 'binary' })), { maxLength: 20 }), (texts) => {
        expect(render(texts)).toBe(plain(texts));
      }),
    );
  });

  it.each(['"', '\\', '\n', '\u0000', '\u001f', '\u007f', '\u2028', '\ud83d', '\udcb6', '💶'])(
    'is its JSON with the character %j',
    (character) => {
      expect(render([`a${character}b`])).toBe(plain([`a${character}b`]));
    },
  );

  it('is its JSON when the page, or one movement, is larger than the buffer', () => {
    const long = [
      ...Array.from({ length: 60 }, (_, i) => `${i} ${'€'.repeat(21_000)}`),
      '€'.repeat(400_000),
      'x',
    ];
    expect(render(long)).toBe(plain(long));
  });

  it('keeps its bytes when the next page is rendered', () => {
    const kept = renderPage([movement('kısa')]);
    render(['another']);
    expect(kept.toString()).toBe(plain(['kısa']));
  });

  it('has the moment and the reason of a withdrawal', () => {
    const withdrawal = { withdrawn_at: '2026-02-01 10:00:00+03', withdrawn_reason: 'sent "twice"' };
    const text = renderTransaction({ ...movement('x'), ...withdrawal });
    expect(JSON.parse(text)).toEqual({ ...shown('x'), ...withdrawal });
  });

  it('shows a movement as the page of a single movement does', () => {
    expect(JSON.stringify({ transactions: [JSON.parse(renderTransaction(movement('ş')))] })).toBe(
      plain(['ş']),
    );
  });
});
