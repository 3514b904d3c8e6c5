import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { inAccount, read } from './records.ts';

const PAGE = readFileSync(new URL('../../../docs/formats/bai2.md', import.meta.url), 'utf8');
const SUMS = new Set(
  /appendix A of the specification \(levels [^)]*\):\s+([\d,\s]+)\./.exec(PAGE)?.[1]?.split(/,\s+/),
);

/** What the page of the format says of a type code. */
function resultOf(code: number): string {
  const isIn = (first: number, last: number) => code >= first && code <= last;
  if (SUMS.has(String(code))) return 'issue';
  if (code === 890) return 'nothing';
  if (isIn(101, 399) || isIn(920, 959) || isIn(721, 728)) return 'Credit';
  return isIn(401, 699) || isIn(960, 999) ? 'Debit' : 'issue';
}

const CODES = Array.from({ length: 1000 }, (_, code) => code);

it('each type code of a BAI2 transaction is a credit, a debit, information or refused, as the page of the format says', async () => {
  const events = await read(
    inAccount(CODES.map((code) => `16,${String(code).padStart(3, '0')},${code}`).join('\n')),
  );
  const found = new Map(
    events.flatMap((event): [number, string][] => {
      if (event.type === 'entry') return [[event.entry.line, event.entry.dc]];
      return event.type === 'issue' ? [[event.line, event.path === 'type code' ? 'issue' : event.path]] : [];
    }),
  );
  expect(SUMS.size).toBe(160);
  expect(CODES.map((code) => `${code} ${found.get(code + 4) ?? 'nothing'}`)).toEqual(
    CODES.map((code) => `${code} ${resultOf(code)}`),
  );
});
