import { readIban } from '../iban-text.ts';
import { type Details, joinWrapped, SUB_FIELD_WIDTH, tidy } from './text.ts';

/**
 * Reads :NS: beside an entry, by which German software writes lines that begin with a number: 01 to 14 remittance information, 15 and 16
 * name, 17 booking text, 34 account.
 */
export function readNumberedLines(lines: readonly string[]): Details {
  const select = (from: number, to: number) =>
    joinWrapped(
      lines.filter((line) => isWithin(line, from, to)).map((line) => line.slice(2)),
      SUB_FIELD_WIDTH,
    );
  const account = tidy(select(34, 34));
  const iban = readIban(account ?? '');
  return {
    description: tidy(select(1, 14)) ?? tidy(select(17, 17)),
    name: tidy(select(15, 16)),
    opponentId: iban === null ? account : null,
    opponentIban: iban,
  };
}

function isWithin(line: string, from: number, to: number): boolean {
  const number = /^\d\d/.exec(line)?.[0];
  return number !== undefined && Number(number) >= from && Number(number) <= to;
}
