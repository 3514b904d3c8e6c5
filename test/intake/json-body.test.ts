import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ITEM_BYTES, MalformedJsonError, readJsonBody, TOO_LONG } from '../../src/intake/json-body.ts';
import { expectTurns } from '../support/turns.ts';

/** The body as JSON.parse would read it, put together from its parts. */
async function read(body: string | Buffer): Promise<unknown> {
  const whole = await readParts(Buffer.from(body));
  // Blanks behind the body make it one that is not parsed at once.
  const scanned = await readParts(Buffer.concat([Buffer.from(body), BLANKS]));
  expect(scanned).toEqual(whole);
  return scanned;
}

const BLANKS = Buffer.alloc(ITEM_BYTES, ' ');

async function readParts(body: Buffer): Promise<unknown> {
  const { shell, items } = await readJsonBody(body, 'transactions');
  const all: unknown[] = [];
  for await (const some of items()) all.push(...some);
  const hasList = Array.isArray((shell as { transactions?: unknown } | null)?.transactions);
  return hasList ? { ...(shell as object), transactions: all } : shell;
}

async function outcomeOf(parse: () => unknown): Promise<unknown> {
  try {
    return { value: await parse() };
  } catch {
    return 'malformed';
  }
}

/** Pieces of JSON, in any order, are JSON often enough. */
const PIECES = [
  ...'{}[],:" \n\\0-',
  ...[
    '{"transactions":[',
    '"transactions":',
    '{"a":1}',
    '"\\""',
    '"a\\\\"',
    '"]"',
    '1e3',
    'null',
    'é',
    '\u2028',
  ],
  ...['[1,{"b":[2]}]', '"transactions":[7]', ']}', '"__proto__":', '\uFEFF'],
];

describe('a JSON body that is read item by item', () => {
  it.each([
    '{"transactions":[]}',
    ' {\n"transactions" : [ 1 , {"a":[{"b":"]},"}]} , "\\"],[" ] } \n',
    '{"a":1,"transactions":[1],"b":{"transactions":[9]}}',
    '{"transactions":[1,2],"transactions":[3]}',
    '{"transactions":[1,2],"transactions":5}',
    '{"transactions":5,"transactions":[1,2]}',
    '{"\\u0074ransactions":[1]}',
    '{"transactions":{"0":1}}',
    '{"__proto__":1,"transactions":[{"__proto__":2}]}',
    '{}',
    '[]',
    'null',
    '"text"',
    '[{"transactions":[1]}]',
    `{"transactions":[${'[['.repeat(50)}${']]'.repeat(50)}]}`,
  ])('%j has the value that JSON.parse gives', async (body) => {
    expect(await read(body)).toEqual(JSON.parse(body));
    expect(await read(`\uFEFF${body}`)).toEqual(JSON.parse(body));
  });

  it.each([
    ...['', ' ', '{', '[', '{"transactions":[1', '{"transactions":[1}', '{"transactions":[1,]}', '{"a":1,}'],
    ...['{"transactions":[,1]}', '{"transactions":[1]]}', '{"transactions":[1]} x', '{"transactions" [1]}'],
    ...[
      '{"transactions":[{"a":1],"b":2}]}',
      '{"transactions":[1] 2}',
      '{transactions:[1]}',
      '{"transactions":["a\n"]}',
    ],
    ...[
      '{"transactions":[x],"transactions":[1]}',
      '{"transactions":[1],"a":[}',
      '\uFEFF\uFEFF{}',
      '{"a"}',
      '{"a":}',
    ],
  ])('%j is malformed', async (body) => {
    await expect(read(body)).rejects.toThrow(MalformedJsonError);
  });

  it('that is a long list is a list, or malformed', async () => {
    const list = `[${'0,'.repeat(ITEM_BYTES)}0]`;
    expect((await readJsonBody(Buffer.from(list), 'transactions')).shell).toEqual([]);
    for (const body of ['['.repeat(2 * ITEM_BYTES), list.slice(0, -1), list.replace('0,0', '0,,0')])
      await expect(readJsonBody(Buffer.from(body), 'transactions')).rejects.toThrow(MalformedJsonError);
  });

  it('that is not UTF-8 is malformed', async () => {
    await expect(read(Buffer.from('{"transactions":["\xff"]}', 'latin1'))).rejects.toThrow(
      MalformedJsonError,
    );
  });

  it('of any pieces of JSON is what JSON.parse makes of it', async () => {
    const body = fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const decoded = text.replace(/^\uFEFF/, '');
        expect(await outcomeOf(() => read(text))).toEqual(await outcomeOf(() => JSON.parse(decoded)));
      }),
      { numRuns: 20_000 },
    );
  });

  it('of any value, spelled in any way, is what JSON.parse makes of it', async () => {
    const body = fc
      .tuple(
        fc.array(fc.jsonValue(), { maxLength: 300 }),
        fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
      )
      .map(([transactions, others]) =>
        JSON.stringify({ ...others, transactions }, null, transactions.length % 3),
      );
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        expect(await read(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('has items of at most 64 KiB, and longer ones are not parsed', async () => {
    const long = `"${'a'.repeat(ITEM_BYTES)}"`;
    expect(await read(`{"transactions":[1,${long},2]}`)).toEqual({ transactions: [1, TOO_LONG, 2] });
    expect(await read(`{"other":${long},"transactions":[]}`)).toEqual({ other: null, transactions: [] });
  });

  it('lets other work go on while it is long', async () => {
    const worst = {
      items: `{"transactions":[${'0,'.repeat(2_000_000)}0]}`,
      members: `{${'"a":0,'.repeat(500_000)}"transactions":[]}`,
      blanks: `{"transactions":[0${' '.repeat(8_000_000)}]}`,
      blanksAtTheEnd: `{}${' '.repeat(32_000_000)}`,
      blanksBehindNumber: `0${' '.repeat(32_000_000)}`,
      blanksBehindName: `{"a"${' '.repeat(16_000_000)}:${' '.repeat(16_000_000)}0}`,
      name: `{"${'a'.repeat(32_000_000)}":0}`,
      text: `{"transactions":["${'\\"'.repeat(4_000_000)}"]}`,
      brackets: `{"transactions":[${'['.repeat(8_000_000)}`,
    };
    for (const body of Object.values(worst)) await expectTurns(() => outcomeOf(() => read(body)));
  });
});
