import { describe, expect, it } from 'vitest';
import { looksLikeBai2 } from '../../packages/statements/src/bai2/parse.ts';
import { looksLikeCamt } from '../../packages/statements/src/camt/parse.ts';
import { looksLikeCfonb120 } from '../../packages/statements/src/cfonb120/parse.ts';
import { looksLikeCoda } from '../../packages/statements/src/coda/parse.ts';
import { detectProfile, looksLikeTable, readTables } from '../../packages/statements/src/csv/parse.ts';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { looksLikeMt940, looksLikeMt942 } from '../../packages/statements/src/mt940/parse.ts';
import { looksLikeNorma43 } from '../../packages/statements/src/norma43/parse.ts';
import { encodingOf, looksLikeOfx } from '../../packages/statements/src/ofx/parse.ts';
import { readBuiltInProfiles } from '../../packages/statements/src/parse-profile.ts';
import { explainHeadings } from '../../packages/statements/src/profiles/headings.ts';
import { checkBeginning } from '../../packages/statements/src/read-files.ts';
import { decodeStart } from '../../packages/statements/src/shared/decode.ts';
import { detectEncoding } from '../../packages/statements/src/shared/detect-encoding.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { processorTimeOf } from '../support/processor-time.ts';
import { FORMATS } from './format-table.ts';

/** What reads a file takes time that grows with the length of the file, and not with its square. */

const profiles = readBuiltInProfiles();
const formats = createStatementFormats(profiles, READ_SETTINGS);
const bytesOf = (text: string) => Buffer.from(text, 'latin1');

type Reader = (text: string) => unknown;

async function* inParts(text: string): AsyncGenerator<Uint8Array> {
  const bytes = bytesOf(text);
  for (let at = 0; at < bytes.length; at += 64 * 1024) yield bytes.subarray(at, at + 64 * 1024);
}

/** The beginnings of files, and what looks at them. Most of them get a few KiB in practice. */
const LOOKS: Record<string, Reader> = {
  'the detection of a format': (text) => formats.detect(bytesOf(text)),
  'the detection of MT940': looksLikeMt940,
  'the detection of MT942': looksLikeMt942,
  'the detection of CAMT': looksLikeCamt,
  'the detection of OFX': looksLikeOfx,
  'the encoding of OFX': encodingOf,
  'the detection of BAI2': looksLikeBai2,
  'the detection of Norma 43': looksLikeNorma43,
  'the detection of CFONB 120': looksLikeCfonb120,
  'the detection of CODA': looksLikeCoda,
  'the detection of a table': looksLikeTable,
  'the detection of a profile': (text) => detectProfile(text, profiles),
  'the explanation of headings': (text) => explainHeadings(readTables(text), profiles, READ_SETTINGS.advice),
  'the detection of an encoding': (text) => detectEncoding(bytesOf(text), bytesOf(text)),
  'the decoding of a beginning': (text) => decodeStart(bytesOf(text)),
  'the check of an upload': (text) =>
    checkBeginning(formats, inParts(text), { format: 'auto', profile: null }).catch(() => null),
};

const BEGINNINGS = [
  '',
  '\uFEFF',
  '<?xml',
  '<!--',
  '<OFX',
  'OFXHEADER:100',
  ':20:',
  '01,',
  '11',
  '{1:',
  '\u00e9',
  '0000002032639905 ',
];

const FILLS = [
  ...' \t\n/,;"\'<&>:?-09Aa{[\u00e9\u00a0\0',
  ...['\r\n', '\r\r', ', ', ';;\n', '"\n', '":"', '88,', 'a;b;c\n', '\u00e9 ', 'a\u00e9', 'EUR ', 'DE12'],
  ...[
    '<A>',
    '</A>',
    '<b/>x',
    ']]>',
    '<![CDATA[x]]>',
    '<!---->',
    '<!-- -->',
    '<!--',
    '-->',
    '<?xml ?>',
    '<?xml ',
  ],
  ...['OFXHEADER ', 'OFXHEADER:', 'ENCODING:', ' encoding="', ':20:\n', '01,A\n', '{1:F01}', '{4:\n'],
];

const SHORT = 64 * 1024;
const LONG = 4 * SHORT;

/** Times below this say nothing about how they grow. Milliseconds. */
const LEAST = 1_000;
const MOST = 2_000;
/** Four times as long a text, and as much again for what the machine shares, such as its memory. */
const GROWTH = 8;
const TRIES = 5;

/** Takes the best of several tries: the collection of garbage comes when it will. */
async function expectLinear(read: Reader, beginning: string, fill: string): Promise<void> {
  const timeOf = (size: number) => {
    const text = `${beginning}${fill.repeat(size / fill.length)}x`;
    return processorTimeOf(() => read(text));
  };
  let [short, long] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let at = 0; at < TRIES; at += 1) {
    long = Math.min(long, await timeOf(LONG));
    if (long <= LEAST) return;
    short = Math.min(short, await timeOf(SHORT));
    if (long <= GROWTH * short && long <= MOST) return;
    // Further tries would take minutes.
    if (long > 5 * MOST) break;
  }
  const times = `${Math.round(short)} and ${Math.round(long)} ms`;
  expect.fail(`${JSON.stringify(beginning)} and then ${JSON.stringify(fill)}: ${times}`);
}

describe.each(Object.entries(LOOKS))('%s', (_, read) => {
  it.each(FILLS)('takes time that grows with the length of %j', async (fill) => {
    for (const beginning of BEGINNINGS) await expectLinear(read, beginning, fill);
  });
});

describe.each(FORMATS)('the parser of $name', ({ parse, beginnings }) => {
  const readAll: Reader = async (text) => {
    async function* whole() {
      yield text;
    }
    for await (const _ of parse(whole()));
  };

  it.each(FILLS)('takes time that grows with the length of %j', async (fill) => {
    for (const beginning of beginnings) await expectLinear(readAll, beginning, fill);
  });
});

it('a comment that is repeated before OFX is read once', () => {
  expect(looksLikeOfx(`${'<!---->'.repeat(40)}x`)).toBe(false);
  expect(looksLikeOfx(`${'<!---->'.repeat(400)}<?xml version="1.0"?>\n<OFX>`)).toBe(true);
  expect(looksLikeOfx('<!--> <OFX>')).toBe(false);
});
