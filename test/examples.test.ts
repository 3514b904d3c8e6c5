import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ACCOUNTS } from '../examples/statement/accounts.ts';
import { createRows, type Row } from '../examples/statement/rows.ts';

const read = (name: string) => readFileSync(new URL(`../examples/${name}`, import.meta.url), 'utf8');
const rows: Row[] = read('movements.ndjson')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));

/** ISO 13616: the first four characters to the end, letters as 10 to 35, and the rest of a division by 97 is 1. */
function isValidIban(text: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text) || (text.startsWith('TR') && text.length !== 26))
    return false;
  let rest = 0;
  for (const character of text.slice(4) + text.slice(0, 4)) {
    for (const digit of String(Number.parseInt(character, 36))) rest = (rest * 10 + Number(digit)) % 97;
  }
  return rest === 1;
}

const kurus = (amount: string) => BigInt(amount.replace('.', ''));

describe('the example statement', () => {
  it('is what its generator writes', () => {
    expect(rows).toEqual(createRows());
    expect(JSON.parse(read('accounts.json'))).toEqual(ACCOUNTS);
  });

  it('has 520 rows with the same fields in the same order, and the first 40 of them as a JSON document too', () => {
    expect(rows).toHaveLength(520);
    const fields =
      'account_id,dc,code,amount,balance,description,date_issue,opponent_id,opponent_iban,unique_id,name';
    expect(new Set(rows.map((row) => Object.keys(row).join()))).toEqual(new Set([fields]));
    expect(JSON.parse(read('movements.json'))).toEqual({ transactions: rows.slice(0, 40) });
  });

  it('covers 30 days in order, on the three accounts of accounts.json', () => {
    const dates = rows.map((row) => row.date_issue);
    expect(dates).toEqual([...dates].sort());
    expect(new Set(dates).size).toBe(30);
    expect([dates[0], dates.at(-1)]).toEqual(['2025-10-01', '2025-10-30']);
    const accounts: { ref: string; currency: string; iban: string }[] = JSON.parse(read('accounts.json'));
    expect(accounts.map(({ ref, currency }) => ref + currency)).toEqual(['1TRY', '2TRY', '3EUR']);
    expect(accounts.every((account) => isValidIban(account.iban))).toBe(true);
    expect(new Set(rows.map((row) => row.account_id))).toEqual(new Set(['1', '2', '3']));
  });

  it.each(['1', '2', '3'])('has balances on account %s that add up to the kuruş and stay positive', (ref) => {
    const own = rows.filter((row) => row.account_id === ref);
    for (const [at, row] of own.entries()) {
      expect(row.amount).toMatch(/^\d{1,17}\.\d{2}$/);
      expect(row.balance).toMatch(/^\d{1,17}\.\d{2}$/);
      const before = own[at - 1];
      if (before === undefined) continue;
      const change = row.dc === 'Credit' ? kurus(row.amount) : -kurus(row.amount);
      expect(kurus(row.balance), `row ${at} of account ${ref}`).toBe(kurus(before.balance) + change);
    }
  });

  it.each([
    ['EFT', /^EFT /],
    ['FAST', /^FAST /],
    ['HVL', /^HAVALE /],
    ['POS', /POS GÜN SONU/],
    ['PBL', /BLOKELİ/],
    ['KOM', /KOMİSYON/],
    ['BSMV', /BSMV/],
    ['MAAS', /MAAŞ/],
    ['KIRA', /KİRA/],
    ['SGK', /SGK/],
    ['VRG', /VERGİ/],
    ['VRM', /VİRMAN/],
    ['CEK', /ÇEK/],
    ['KK', /KREDİ KARTI/],
    ['SWF', /SWIFT/],
    ['IAD', /İADE/],
  ])('has movements of the kind %s', (code, description) => {
    expect(rows.some((row) => row.code === code && description.test(row.description))).toBe(true);
  });

  it('has both directions and every Turkish letter, in names and in descriptions', () => {
    expect(new Set(rows.map((row) => row.dc))).toEqual(new Set(['Debit', 'Credit']));
    for (const letter of 'ğüşıöçİ') {
      expect(
        rows.some((row) => row.name?.includes(letter)),
        `a name with ${letter}`,
      ).toBe(true);
    }
    const descriptions = rows.map((row) => row.description.toLocaleLowerCase('tr')).join();
    for (const letter of 'ğüşıöçi') expect(descriptions).toContain(letter);
  });

  it('has the awkward values of real statements: null, leading spaces, quotes, line breaks, an amount of 0 and invalid IBANs', () => {
    const count = (is: (row: Row) => boolean) => rows.filter(is).length;
    expect(count((row) => row.name === null)).toBeGreaterThan(20);
    expect(count((row) => row.opponent_id === null)).toBeGreaterThan(20);
    expect(count((row) => row.opponent_iban === null)).toBeGreaterThan(20);
    expect(count((row) => /^ \d{10}$/.test(row.opponent_id ?? ''))).toBeGreaterThan(10);
    expect(count((row) => /\p{Extended_Pictographic}/u.test(row.description))).toBe(1);
    expect(count((row) => /["\\\n]/.test(row.description))).toBe(1);
    expect(rows.find((row) => row.description.includes('\n'))?.description).toMatch(/".*\\.*"\n/);
    expect(count((row) => row.amount === '0.00')).toBe(1);
    expect(count((row) => row.opponent_iban !== null && !isValidIban(row.opponent_iban))).toBe(2);
  });

  it('has ten rows without a bank id, two rows equal in everything, and no id twice on an account', () => {
    const ids = rows.filter((row) => row.unique_id).map((row) => `${row.account_id} ${row.unique_id}`);
    expect(ids).toHaveLength(510);
    expect(new Set(ids).size).toBe(510);
    expect(rows.filter((row) => row.unique_id === '')).toHaveLength(1);
    const contents = rows.map((row) => JSON.stringify(row));
    const [twin, ...others] = contents.filter((content, at) => contents.indexOf(content) !== at);
    expect(others).toEqual([]);
    expect(JSON.parse(twin ?? '{}')).toMatchObject({
      unique_id: null,
      description: 'FAST GİDEN NAKLİYE BEDELİ',
    });
  });

  it('has personal ids that belong to nobody, because their check digit is wrong', () => {
    const persons = new Set(rows.map((row) => row.opponent_id).filter((id) => /^\d{11}$/.test(id ?? '')));
    expect(persons.size).toBeGreaterThan(20);
    for (const id of persons) {
      const digits = [...(id ?? '')].map(Number);
      const sum = digits.slice(0, 10).reduce((total, digit) => total + digit, 0);
      expect(sum % 10, id ?? '').not.toBe(digits[10]);
    }
  });
});

describe('the bank’s files of November', () => {
  const mt940 = read('bank-files/november.sta');
  const camt = read('bank-files/november.xml');
  const ofMt940 = [...mt940.matchAll(/^:61:(\d{6})\d{4}(R?[CD])([\d,]+)/gm)].map(
    ([, date, mark = '', amount = '']) =>
      [date, ['C', 'RD'].includes(mark) ? 'CRDT' : 'DBIT', kurus(amount.replace(',', '.'))] as const,
  );
  const ofCamt = [
    ...camt.matchAll(
      /<Ntry>\s*<Amt Ccy="TRY">([\d.]+)<\/Amt>\s*<CdtDbtInd>(\w+)<[\s\S]*?<BookgDt><Dt>20(\d\d)-(\d\d)-(\d\d)</g,
    ),
  ].map(([, amount = '', dc, year, month, day]) => [`${year}${month}${day}`, dc, kurus(amount)] as const);

  it('have the same entries, with two equal entries on one day and a reversal', () => {
    expect(ofMt940).toHaveLength(10);
    expect(ofCamt).toEqual(ofMt940);
    expect(new Set(ofMt940.map(String)).size).toBe(9);
    expect(camt).toContain('<RvslInd>true</RvslInd>');
  });

  it('lead from the opening to the closing balance', () => {
    const balance = (tag: string) =>
      kurus(new RegExp(`^:${tag}:C\\d{6}TRY([\\d,]+)`, 'm').exec(mt940)?.[1]?.replace(',', '.') ?? '');
    const sum = ofMt940.reduce((total, [, dc, amount]) => total + (dc === 'CRDT' ? amount : -amount), 0n);
    expect(balance('60F') + sum).toBe(balance('62F'));
  });
});
