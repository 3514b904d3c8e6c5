import { describe, expect, it } from 'vitest';
import { parseCoda } from '../../../packages/statements/src/coda/parse.ts';
import { readStatements, type Statement } from '../../../packages/statements/src/index.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { describeEvents, entriesOf } from '../statement-events.ts';
import {
  fileOf,
  header,
  IBAN,
  joinLines,
  messagesOf,
  movement,
  newBalance,
  oldBalance,
  read,
  record,
  trailer,
} from './records.ts';

const STATEMENT = `statement ${IBAN} EUR`;
const TWO = fileOf([movement(5_000n), movement(-2_000n, { sequence: '0002', reference: 'REF2' })]);

describe('the sums of a CODA file', () => {
  it.each<[string, string, string[]]>([
    ['right sums', TWO, []],
    [
      'debits',
      TWO.replace('000000000002000000000000005000', '000000000002500000000000005000'),
      ['The trailer (9) has debits of 2.50, but the movements (2.1) add up to 2.00: a difference of 0.50.'],
    ],
    [
      'credits',
      TWO.replace('000000000002000000000000005000', '000000000002000000000000004990'),
      ['The trailer (9) has credits of 4.99, but the movements (2.1) add up to 5.00: a difference of -0.01.'],
    ],
    [
      'the number of records',
      TWO.replace('000004000000000002000', '000005000000000002000'),
      ['The trailer (9) counts 5 records, but there are 4.'],
    ],
    [
      'sums that cannot be read',
      TWO.replace('000004000000000002000', '00000400000000000200X'),
      [
        'The debit movement of the trailer (9) is "00000000000200X", columns 23 to 37 of line 6. It must be 15 digits.',
      ],
    ],
    [
      'a file that does not follow',
      fileOf([movement(5_000n)], { code: '1' }),
      ['The trailer (9) says that another file follows, and there is none. The file may be incomplete.'],
    ],
  ])('are compared with the records: %s', async (_, text, expected) => {
    const events = await read(text);
    expect(messagesOf(events)).toEqual(expected);
    expect(entriesOf(events)).not.toEqual([]);
  });

  it('are not compared when an amount cannot be read', async () => {
    const text = TWO.replace('000000000005000020326', '00000000000500X020326');
    expect(describeEvents(await read(text))).toEqual([
      STATEMENT,
      'issue at 3: amount',
      '2026-03-02 -2.00',
      'end 103.00',
    ]);
  });
});

describe('a CODA file', () => {
  it('without an account gives an issue', async () => {
    expect(describeEvents(await read(joinLines([header()])))).toEqual([
      'warning at 1',
      'issue at 1: account',
    ]);
    expect(describeEvents(await read(''))).toEqual(['issue at 1: account']);
  });

  it.each([
    ['a new balance', joinLines([header(), oldBalance(0n), movement(1_000n), trailer(2, 0n, 1_000n)])],
    ['a trailer', joinLines([header(), oldBalance(0n), movement(1_000n), newBalance(1_000n)])],
    ['both', joinLines([header(), oldBalance(0n), movement(1_000n)])],
  ])('without %s has a warning', async (_, text) => {
    const events = await read(text);
    expect(entriesOf(events)).toHaveLength(1);
    expect(messagesOf(events)).not.toEqual([]);
  });

  it('of version 1 is refused', async () => {
    const text = fileOf([movement(5_000n)]).replace(header(), header('1'));
    expect(describeEvents(await read(text))).toEqual(['issue at 1: version code', 'issue at 5: account']);
  });

  it('may have several accounts', async () => {
    const other = 'LU280019400644750000'.padEnd(34).concat('TND');
    const text = joinLines([
      ...[header(), oldBalance(0n), movement(1_000n), newBalance(1_000n), trailer(3, 0n, 1_000n, '1')],
      ...[header(), oldBalance(0n, other, '3'), movement(1_001n), newBalance(1_001n, other)],
      trailer(3, 0n, 1_001n),
    ]);
    expect(describeEvents(await read(text))).toEqual([
      ...[STATEMENT, '2026-03-02 +1.00', 'end 1.00'],
      ...['statement LU280019400644750000 TND', '2026-03-02 +1.001', 'end 1.001'],
    ]);
  });

  it('whose new balance is of another account is read without it', async () => {
    const text = fileOf([movement(5_000n)]).replace('8017BE68', '8017BE69');
    const events = await read(text);
    expect(describeEvents(events)).toEqual([STATEMENT, '2026-03-02 +5.00', 'warning at 4', 'end']);
  });

  it.each([
    ['a Belgian number', '0', '539007547034 EUR0BE', IBAN, null],
    ['a Belgian number with a wrong check', '0', '539007547035 EUR0BE', null, '539007547035'],
    ['a foreign number', '1', '00012345'.padEnd(34).concat('EUR'), null, '00012345'],
    [
      'a foreign IBAN',
      '3',
      'DE89370400440532013000'.padEnd(34).concat('EUR'),
      'DE89370400440532013000',
      null,
    ],
  ])('of %s names its account', async (_, structure, account, iban, number) => {
    const events = await read(joinLines([header(), oldBalance(-7_000n, account.padEnd(37), structure)]));
    expect(events[0]).toMatchObject({
      account: { iban, number, currency: 'EUR', bank: 'MILLBEBB' },
      opening: { amount: -7_000n, date: '2026-03-01' },
      identity: { number: '017' },
    });
  });

  it.each([
    ['amount', { 33: '00000000000500X' }],
    ['sign', { 32: '2' }],
    ['entry date', { 116: '310226' }],
    ['detail number', { 7: '00X0' }],
    ['record', { 128: '0 X' }],
  ])('with a movement whose %s cannot be read rejects it', async (path, change) => {
    const line = movement(5_000n);
    const changed = Object.entries(change).reduce(
      (text, [column, value]) =>
        text.slice(0, Number(column) - 1) + value + text.slice(Number(column) - 1 + value.length),
      line,
    );
    const events = await read(fileOf([line]).replace(line, changed));
    expect(describeEvents(events).slice(0, 2)).toEqual([STATEMENT, `issue at 3: ${path}`]);
    expect(entriesOf(events)).toEqual([]);
  });

  it.each(['latin1', 'utf8'] as const)('in %s has its letters', async (encoding) => {
    const text = fileOf([movement(5_000n, { text: 'CRÈME BRÛLÉE POUR LE CAFÉ' })]);
    const statements: Statement[] = [];
    for await (const it of readStatements(Buffer.from(text, encoding))) statements.push(it);
    expect(statements).toHaveLength(1);
    expect(statements[0]).toMatchObject({
      ...{ format: 'coda', difference: '0.00', warnings: [], rejected: [] },
      entries: [{ amount: '5.00', description: 'CRÈME BRÛLÉE POUR LE CAFÉ' }],
    });
  });

  it('that counts letters with accents as several rejects the movements whose columns are shifted', async () => {
    const line = movement(5_000n, { text: 'CAFÉ', date: '010126' });
    const events = await read(fileOf([line]).replace(line, line.replace('CAFÉ ', 'CAFÉ')));
    expect(describeEvents(events).slice(0, 2)).toEqual([STATEMENT, 'issue at 3: record']);
    expect(entriesOf(events)).toEqual([]);
  });

  it('rejects movements outside of a statement, and warns of records of no movement', async () => {
    const text = joinLines([header(), movement(1_000n), oldBalance(0n), record({ 1: '2200010000' })]);
    expect(describeEvents(await read(text)).slice(0, 3)).toEqual([
      'issue at 2: account',
      STATEMENT,
      'warning at 4',
    ]);
  });
});

describe('a hostile CODA file', () => {
  async function* repeat(before: string, piece: string, times: number, after = '') {
    yield before;
    const many = piece.repeat(1_000);
    for (let at = 0; at < times / 1_000; at += 1) yield many;
    yield after;
  }
  async function count(parts: AsyncIterable<string>) {
    const found: Partial<Record<StatementEvent['type'], number>> = {};
    let longest = 0;
    for await (const events of parseCoda(parts))
      for (const event of events) {
        found[event.type] = (found[event.type] ?? 0) + 1;
        if (event.type === 'entry') longest = Math.max(longest, event.entry.description?.length ?? 0);
      }
    return { ...found, longest };
  }
  const beginning = joinLines([header(), oldBalance(0n), movement(5_000n)]);
  const end = joinLines([newBalance(5_000n), trailer(3, 0n, 5_000n)]);

  it('of a line of 80 MB is read in little memory', async () => {
    const before = process.memoryUsage().heapUsed;
    const found = await count(repeat(beginning, 'A'.repeat(1_000), 80_000, `\r\n${end}`));
    expect(found).toMatchObject({ statement: 1, entry: 1, issue: 1, end: 1 });
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 1024 * 1024);
  });

  it('of a million records of information keeps some of them', async () => {
    const piece = `${record({ 1: '3100010001', 40: `0${'TEXT '.repeat(14)}` })}\n`;
    const found = await count(repeat(beginning, piece, 1_000_000, end));
    expect(found).toMatchObject({ entry: 1, end: 1, warning: 2 });
    expect(found.longest).toBeLessThan(10_000);
  });

  it('of a million details has their total', async () => {
    const piece = `${movement(1n, { detail: '0001', code: '50107000' })}\n`;
    const begun = beginning.replace('00150000', '10107000');
    const found = await count(repeat(begun, piece, 1_000_000, end));
    expect(found).toMatchObject({ entry: 1, end: 1, warning: 2 });
  });
});
