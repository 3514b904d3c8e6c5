import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCursor, encodeCursor } from '../../src/http/paging.ts';

describe('a cursor', () => {
  it('decodes to the movement it was made of, and needs no encoding in a URL', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 18n - 1n }), (id) => {
        const cursor = encodeCursor(String(id), 't1');
        expect(decodeCursor(cursor, 't1')).toBe(String(id));
        expect(encodeURIComponent(cursor)).toBe(cursor);
      }),
    );
  });

  it('decodes to null from anything else, without an error', () => {
    const changed = fc
      .tuple(fc.bigInt({ min: 1n, max: 10n ** 18n - 1n }), fc.nat(30), fc.string({ maxLength: 3 }))
      .map(([id, at, text]) => {
        const cursor = encodeCursor(String(id), 't1');
        return cursor.slice(0, at) + text + cursor.slice(at + 1);
      });
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.base64String(), changed),
        (text) => {
          const id = decodeCursor(text, 't1');
          if (id === null) return;
          expect(id).toMatch(/^\d{1,18}$/);
          expect(encodeCursor(id, 't1')).toBe(text);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it.each([
    '',
    't1:1',
    'MQ',
    'dDE6',
    btoa('t2:1'),
    btoa('t1:-1'),
    btoa('t1:1 '),
    btoa('t1:1e3'),
    `${encodeCursor('1', 't1')}=`,
  ])('is not decoded from %j', (text) => {
    expect(decodeCursor(text, 't1')).toBeNull();
  });
});
