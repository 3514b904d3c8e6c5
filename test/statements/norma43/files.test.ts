import { describe, expect, it } from 'vitest';
import { parseNorma43 } from '../../../packages/statements/src/norma43/parse.ts';
import { countOf, describeEvents, entriesOf, issuesOf, warningsOf } from '../statement-events.ts';
import { closing, fileOf, HEADER, movement, read } from './records.ts';

const END = closing([0, 0], [1, 500], 100_500);
const WHOLE = fileOf(movement(), '2301TEXTO', END);

describe('a file of Norma 43', () => {
  it('may have several accounts', async () => {
    const other = HEADER.replace('123456', '123464');
    const events = await read(fileOf(movement(), END, other, END.replace('123456', '123464')));
    expect(describeEvents(events).filter((it) => /statement|end/.test(it))).toHaveLength(4);
    expect(warningsOf(events)).toHaveLength(2);
  });

  it('may have no line ends', async () => {
    const text = WHOLE.split('\n')
      .map((line) => (line === '' ? '' : line.padEnd(80)))
      .join('');
    const events = await read(text);
    expect(entriesOf(events).map(({ description }) => description)).toEqual(['TEXTO']);
    expect(countOf(events, 'warning')).toBe(0);
  });

  it('may be filled up with nines and the character 26', async () => {
    const events = await read(`${WHOLE}${'9'.repeat(80)}\n\u001a`);
    expect(describeEvents(events)).toEqual(describeEvents(await read(WHOLE)));
  });

  it('without its end (88) may be incomplete', async () => {
    const text = WHOLE.slice(0, WHOLE.indexOf('\n88'));
    expect(warningsOf(await read(text))).toEqual(['The file has no end (88). It may be incomplete.']);
  });

  it('that ends within its end (88) may be incomplete', async () => {
    expect(warningsOf(await read(WHOLE.trimEnd().slice(0, -1)))[0]).toMatch(/The file may be incomplete\.$/);
  });

  it('whose account has no end (33) may be incomplete', async () => {
    expect(warningsOf(await read(`${HEADER}\n${movement()}`))).toEqual([
      'The account (11) has no end (33). Its movements may be incomplete.',
      'The file has no end (88). It may be incomplete.',
    ]);
    expect(warningsOf(await read(fileOf(movement(), HEADER, movement(), END)))).toEqual([
      'The account (11) has no end (33). Its movements may be incomplete.',
    ]);
  });

  it('has issues of lines that are no records', async () => {
    expect(issuesOf(await read(fileOf(movement(), 'SALDO', '2301TEXTO', END)))).toEqual([
      'record: The line "SALDO" is not a record. It must begin with 11, 22, 23, 24, 33 or 88.',
    ]);
  });

  it('without an account has an issue', async () => {
    expect(issuesOf(await read('88\n'))).toEqual(['account: There is no account (11) in this file.']);
  });

  it('has one warning of texts before the first movement', async () => {
    expect(warningsOf(await read(fileOf('2301A', '2302B', '24', movement(), END)))).toEqual([
      'The record 23 stands before any movement (22), and was left out.',
    ]);
  });

  it('with a million texts of one movement is read, and keeps five of them', async () => {
    const texts = `2301${'T'.repeat(60)}\n`.repeat(10_000);
    async function* parts() {
      yield `${HEADER}\n${movement()}\n`;
      for (let at = 0; at < 100; at += 1) yield texts;
      yield `${END}\n`;
    }
    const began = process.cpuUsage();
    const events = [];
    for await (const some of parseNorma43(parts())) events.push(...some);
    expect(describeEvents(events)).toHaveLength(5);
    expect(entriesOf(events)[0]?.description).toHaveLength(5 * 60 + 4);
    expect(process.cpuUsage(began).user / 1_000_000).toBeLessThan(6);
  });

  it('with a line of 80 MB is read to its end', async () => {
    const megabyte = '1'.repeat(1024 * 1024);
    async function* parts() {
      yield `${HEADER}\n${movement()}`;
      for (let at = 0; at < 80; at += 1) yield megabyte;
      yield `\n${movement()}\n${END}\n`;
    }
    const began = process.cpuUsage();
    const events = [];
    for await (const some of parseNorma43(parts())) events.push(...some);
    expect(countOf(events, 'issue')).toBe(1);
    expect(entriesOf(events)).toHaveLength(1);
    expect(process.cpuUsage(began).user / 1_000_000).toBeLessThan(6);
  });

  it('with 100,000 movements is not compared by counts, which have five digits', async () => {
    const movements = `${movement()}\n`.repeat(100_000);
    async function* parts() {
      yield `${HEADER}\n${movements}${closing([0, 0], [0, 50_000_000], 50_100_000)}\n`;
    }
    const warnings = [];
    for await (const some of parseNorma43(parts())) warnings.push(...warningsOf(some));
    expect(warnings).toEqual(['The file has no end (88). It may be incomplete.']);
  });
});
