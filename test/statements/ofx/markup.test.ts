import { describe, expect, it } from 'vitest';
import { parseOfx } from '../../../packages/statements/src/ofx/parse.ts';
import { describeEvents, entriesOf, readEvents } from '../statement-events.ts';
import { inStatement, read, STATEMENT, withFields } from './statement.ts';

const readOne = async (fields: string) => entriesOf(await read(withFields(fields)))[0];

describe('the OFX markup parser', () => {
  const entry = '<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>20260301<TRNAMT>-12.34<FITID>A1<MEMO>Kira</STMTTRN>';
  it.each<[string, string]>([
    ['SGML without closing tags of values', inStatement(entry)],
    ['XML', inStatement(entry).replaceAll(/<(\w+)>([^<]+)(?=<)/g, '<$1>$2</$1>')],
    ['a closing tag for some values', inStatement(entry.replace('-12.34', '-12.34</TRNAMT>'))],
    ['line ends after each value', inStatement(entry).replaceAll('<', '\r\n  <')],
    ['carriage returns alone', inStatement(entry).replaceAll('<', '\r<')],
    ['lower case', inStatement(entry).replaceAll(/<[^>]*>/g, (tag) => tag.toLowerCase())],
    ['a namespace prefix', inStatement(entry).replaceAll(/<(\/?)(\w)/g, '<$1ofx:$2')],
    ['attributes', inStatement(entry).replace('<OFX>', '<OFX xmlns="http://ofx.net" a=\'b\'>')],
    ['comments', inStatement(`<!-- <STMTTRN> -->${entry}<!-- </STMTRS> > -- -->`)],
    ['a document type', inStatement(entry).replace('<OFX>', '<!DOCTYPE OFX [<!ENTITY a "b">]><OFX>')],
    ['CDATA', inStatement(entry.replace('Kira', '<![CDATA[Kira]]>'))],
    ['blanks around values', inStatement(entry.replaceAll(/>([^<]+)</g, '> \t$1  <'))],
    ['empty elements', inStatement(entry.replace('<MEMO>', '<PAYEE/><NAME/><MEMO>'))],
    ['no header', inStatement(entry).slice('OFXHEADER:100\n\n'.length)],
    ['a transaction without its closing tag', inStatement(entry.replace('</STMTTRN>', ''))],
    ['unknown elements', inStatement(entry.replace('<MEMO>', '<INTU.X>1<Y.Z><A>2</A></Y.Z><MEMO>'))],
  ])('reads a file with %s', async (_, text) => {
    const events = await read(text);
    expect(describeEvents(events)).toEqual([STATEMENT, '2026-03-01 -12.34', 'end']);
    expect(entriesOf(events)[0]).toMatchObject({
      reference: 'A1',
      description: 'Kira',
      code: expect.stringMatching(/debit/i),
    });
  });

  it.each([
    ['a value over two lines', '<MEMO>Kira\r\n    Mart', 'Kira Mart'],
    ['blanks inside of a value', '<MEMO>Kira   Mart', 'Kira   Mart'],
    ['entities', '<MEMO>A &amp; B&nbsp;&lt;C&gt; &#304;', 'A & B <C> İ'],
    ['CDATA, without decoding entities', '<MEMO><![CDATA[A &amp; <B>]]> C', 'A &amp; <B> C'],
    ['a bare "&"', '<MEMO>R&D & AT&T', 'R&D & AT&T'],
    ['a bare "<"', '<MEMO>1 < 2 <3 << 4', '1 < 2 <3 << 4'],
    ['a bare ">"', '<MEMO>2 > 1', '2 > 1'],
  ])('keeps text correctly: %s', async (_, fields, description) => {
    expect((await readOne(fields))?.description).toBe(description);
  });

  it('reports the right lines for all kinds of line ends', async () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const text = inStatement('<STMTTRN>\n<TRNAMT>x\n</STMTTRN>').replaceAll('\n', end);
      for (const sizes of [[], [1], [3, 2]])
        expect(describeEvents(await readEvents(parseOfx, text, sizes))).toContain('issue at 3: TRNAMT');
    }
  });

  it('shortens an endless value, with a warning', async () => {
    const events = await read(withFields(`<MEMO>${'x'.repeat(100_000)}`));
    expect(describeEvents(events)).toEqual([STATEMENT, 'warning at 3', '2026-03-01 -12.34', 'end']);
    expect(entriesOf(events)[0]?.description).toHaveLength(8 * 1024);
  });
});

it.each([
  ['<BR/>', 'one<BR/>two', 'one two'],
  ['<br>', 'one<br>two', 'one two'],
  ['<b>', '<b>one</b> <i>two</i>', 'one two'],
  ['<P> and a closing tag', '<P>one</P><P>two</P></MEMO>', 'one two'],
])('text around the tag %s of HTML stays in its value', async (_, memo, text) => {
  const events = await read(withFields(`<MEMO>${memo}`));
  expect(events.flatMap((it) => (it.type === 'entry' ? [it.entry.description] : []))).toEqual([text]);
  expect(events.filter(({ type }) => type === 'issue')).toEqual([]);
});
