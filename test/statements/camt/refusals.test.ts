import { describe, expect, it } from 'vitest';
import { parseCamt } from '../../../packages/statements/src/camt/parse.ts';
import { entries, ntry, ofType, parse, statement } from './events.ts';

const inside = (text: string) => statement(`${ntry()}\n${text}${ntry()}`);

describe('the reader of a CAMT file', () => {
  it.each([
    ['an entity', inside('<AddtlStmtInf>&bank;</AddtlStmtInf>'), 'an entity is not allowed'],
    ['an entity in an attribute', inside('<a b="&bank;"/>'), 'an entity is not allowed'],
    ['a name that every object has', inside('<a>&constructor;&__proto__;</a>'), 'an entity is not allowed'],
    ['a tag that is not closed', inside('<a>'), 'not well-formed'],
    ['a bare ampersand', inside('<a>Smith & Sons</a>'), 'not well-formed'],
    ['a control character', inside('<a>\u0001</a>'), 'disallowed character'],
    ['elements nested too deep', inside('<a>'.repeat(62) + '</a>'.repeat(62)), 'more than 64 deep'],
    ['a text that is too long', inside(`<a>${'x'.repeat(65_600)}</a>`), '64 KiB'],
    ['a comment that is too long', inside(`<!--${'x'.repeat(65_600)}--><a/>`), '64 KiB'],
    ['an attribute that is too long', inside(`<a b="${'x'.repeat(65_600)}"/>`), '64 KiB'],
    ['a comment without an end', inside('<!-- '), 'not well-formed'],
  ])('stops at %s, and keeps the entry before it', async (_, text, reason) => {
    for (const lengths of [[], [40, 1, 1, 30_000, 60_000]]) {
      const events = await parse(text, lengths);
      expect(entries(events)).toHaveLength(1);
      expect(ofType(events, 'issue')).toMatchObject([{ message: expect.stringContaining(reason) }]);
      expect(events.map(({ type }) => type)).toEqual(['statement', 'entry', 'issue', 'warning', 'end']);
      expect(ofType(events, 'end')).toMatchObject([{ closing: null }]);
    }
  });

  it.each([
    ['a DTD', `<!DOCTYPE Document>${statement(ntry())}`],
    ['a DTD with entities', `<!DOCTYPE d [<!ENTITY a "1"><!ENTITY b "&a;&a;">]>${statement('&b;')}`],
    ['a DTD of another file', `<!DOCTYPE d SYSTEM "file:///etc/passwd">${statement(ntry())}`],
  ])('refuses a file with %s', async (_, text) => {
    expect(await parse(text)).toEqual([
      { type: 'issue', line: 1, path: 'Document', message: expect.stringContaining('DTD') },
    ]);
  });

  it.each([
    ['one after the other', ''],
    ['with blank lines between them', '\r\n\n'],
    ['with a byte order mark between them', '\n\uFEFF'],
    ['with a declaration each', '\n<?xml version="1.0" encoding="UTF-8"?>\n'],
  ])('reads several documents of one file, %s', async (_, between) => {
    const account = (iban: string) => `<Acct><Id><IBAN>${iban}</IBAN></Id></Acct>`;
    const text = [1, 2, 3].map((it) => statement(`${account(`X${it}`)}\n${ntry()}`)).join(between);
    for (const lengths of [[], [1], [7, 30]]) {
      const events = await parse(text, lengths);
      expect(ofType(events, 'statement').map(({ account: it }) => it.iban)).toEqual(['X1', 'X2', 'X3']);
      expect(ofType(events, 'issue')).toEqual([]);
      const lines = between.split('\n').length;
      expect(entries(events).map(({ line }) => line)).toEqual([2, 2 + lines, 2 + 2 * lines]);
    }
  });

  it('stops at what is no document behind a document, and keeps the entry before it', async () => {
    const events = await parse(`${statement(ntry())}\nthe end`);
    expect(entries(events)).toHaveLength(1);
    expect(ofType(events, 'issue')).toMatchObject([{ line: 2, path: 'Document' }]);
  });

  it('reports the line from which the file is not read', async () => {
    const events = await parse(`\n\n${statement(`\n${ntry()}\n</Ntry>`)}`);
    const issue = { line: 5, message: expect.stringContaining('not read from line 5 on') };
    expect(ofType(events, 'issue')).toMatchObject([issue]);
  });

  it.each([
    ['an endless text', '<a>', 'x'],
    ['an endless DTD', '<!DOCTYPE ', 'x'],
    ['endless attributes', '<a ', 'b'],
    ['endless nesting', '', '<a>'],
    ['an endless list of text and comments', '<a>', 'x<!-- -->'],
  ])('stops early at %s', async (_, begin, repeated) => {
    let parts = 0;
    async function* endless() {
      yield begin;
      for (;;) {
        parts += 1;
        yield repeated.repeat(10_000);
      }
    }
    const issues = [];
    for await (const events of parseCamt(endless())) issues.push(...ofType(events, 'issue'));
    expect(issues).toHaveLength(1);
    expect(parts).toBeLessThan(10);
  });
});

describe('a CAMT file', () => {
  it.each([
    [
      'predefined entities and character references',
      '<AddtlNtryInf>A &amp; B &#66; &#x1F600;</AddtlNtryInf>',
      'A & B B 😀',
    ],
    ['CDATA', '<AddtlNtryInf>A <![CDATA[<&>]]> B</AddtlNtryInf>', 'A <&> B'],
    ['a comment in a text', '<AddtlNtryInf>A<!-- x -->B</AddtlNtryInf>', 'AB'],
    ['a processing instruction', '<?x y?><AddtlNtryInf>A</AddtlNtryInf>', 'A'],
  ])('is read with %s', async (_, more, description) => {
    expect(entries(await parse(statement(ntry({ more }))))).toMatchObject([{ description }]);
  });

  it.each([
    [
      'blank lines before the XML declaration',
      `\n \r\n<?xml version="1.0" encoding="UTF-8"?>${statement(ntry())}`,
    ],
    ['a byte order mark', `\uFEFF<?xml version="1.0"?>${statement(ntry())}`],
    ['an encoding that it no longer has', `<?xml version="1.0" encoding="ISO-8859-9"?>${statement(ntry())}`],
    ['Windows line ends', statement(`\r\n${ntry()}\r\n`)],
  ])('is read with %s', async (_, text) => {
    const events = await parse(text);
    expect(entries(events)).toHaveLength(1);
    expect(ofType(events, 'issue')).toEqual([]);
  });
});
