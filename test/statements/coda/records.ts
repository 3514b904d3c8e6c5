import { parseCoda } from '../../../packages/statements/src/coda/parse.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { readEvents } from '../statement-events.ts';

/** Records of CODA, made of the values at their first columns. */

const LENGTH = 128;

export function record(values: Readonly<Record<number, string>>): string {
  let line = '';
  for (const [column, value] of Object.entries(values)) line = line.padEnd(Number(column) - 1) + value;
  return line.padEnd(LENGTH);
}

const thousandths = (amount: bigint) => (amount < 0n ? -amount : amount).toString().padStart(15, '0');
const sign = (amount: bigint) => (amount < 0n ? '1' : '0');

export const IBAN = 'BE68539007547034';

export const header = (version = '2'): string =>
  record({
    1: '00000020326',
    12: '399',
    15: '05',
    25: 'FILE01',
    35: 'MILL BAKERY',
    61: 'MILLBEBB',
    128: version,
  });

export const oldBalance = (
  amount: bigint,
  account = `${IBAN}`.padEnd(34).concat('EUR'),
  structure = '2',
): string =>
  record({
    ...{ 1: `1${structure}017`, 6: account, 43: sign(amount), 44: thousandths(amount), 59: '010326' },
    ...{ 65: 'MILL BAKERY', 91: 'CURRENT ACCOUNT', 126: '017' },
  });

export const newBalance = (amount: bigint, account = `${IBAN}`.padEnd(34).concat('EUR')): string =>
  record({ 1: '8017', 5: account, 42: sign(amount), 43: thousandths(amount), 58: '020326', 128: '0' });

interface First {
  sequence?: string;
  detail?: string;
  reference?: string;
  valueDate?: string;
  code?: string;
  structured?: boolean;
  text?: string;
  date?: string;
}

export const movement = (amount: bigint, first: First = {}): string =>
  record({
    1: `21${first.sequence ?? '0001'}${first.detail ?? '0000'}`,
    11: first.reference ?? 'REF1',
    32: sign(amount),
    33: thousandths(amount),
    48: first.valueDate ?? '020326',
    54: first.code ?? '00150000',
    62: `${first.structured ? '1' : '0'}${first.text ?? ''}`,
    116: first.date ?? '020326',
    122: '01700 0',
  });

export const trailer = (records: number, debits: bigint, credits: bigint, code = '2'): string =>
  record({
    1: '9',
    17: String(records).padStart(6, '0'),
    23: thousandths(debits),
    38: thousandths(credits),
    128: code,
  });

export const joinLines = (lines: readonly string[]): string => lines.map((line) => `${line}\r\n`).join('');

/** A file of one account, with the sums of its movements that are no details. */
export function fileOf(records: readonly string[], { opening = 100_000n, code = '2' } = {}): string {
  const amounts = records
    .filter((line) => /^21.{4}0000/.test(line))
    .map((line) => (line[31] === '1' ? -1n : 1n) * BigInt(line.slice(32, 47)));
  const sum = (all: readonly bigint[]) => all.reduce((total, amount) => total + amount, 0n);
  return joinLines([
    header(),
    oldBalance(opening),
    ...records,
    newBalance(opening + sum(amounts)),
    trailer(
      records.length + 2,
      -sum(amounts.filter((it) => it < 0n)),
      sum(amounts.filter((it) => it > 0n)),
      code,
    ),
  ]);
}

export const read = (text: string): Promise<StatementEvent[]> => readEvents(parseCoda, text);

export const messagesOf = (events: readonly StatementEvent[]): string[] =>
  events.flatMap((event) => ('message' in event ? [event.message] : []));
