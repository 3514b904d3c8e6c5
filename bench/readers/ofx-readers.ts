import { join } from 'node:path';
import { type AnyReader, defineReader, type ReadFile } from './reader.ts';
import { decode, listOf, loadCommonJs, toNumber } from './values.ts';

/** Packages of npm that read OFX. A file of OFX has no opening balance. */

type OneOrMore<T> = T | T[] | '' | undefined;

interface OfxResponse {
  BANKTRANLIST?: { STMTTRN?: OneOrMore<{ DTPOSTED: string; TRNAMT: string }> } | '';
}

/** The tags of the file, as they come. */
interface OfxTree {
  OFX?: {
    BANKMSGSRSV1?: { STMTTRNRS?: OneOrMore<{ STMTRS?: OfxResponse }> };
    CREDITCARDMSGSRSV1?: { CCSTMTTRNRS?: OneOrMore<{ CCSTMTRS?: OfxResponse }> };
  };
}

function treeToFile({ OFX }: OfxTree): ReadFile {
  const responses = [
    ...listOf(OFX?.BANKMSGSRSV1?.STMTTRNRS).map(({ STMTRS }) => STMTRS),
    ...listOf(OFX?.CREDITCARDMSGSRSV1?.CCSTMTTRNRS).map(({ CCSTMTRS }) => CCSTMTRS),
  ].filter((it) => it !== undefined);
  return {
    isWarned: false,
    statements: responses.map(({ BANKTRANLIST }) => ({
      opening: null,
      closing: null,
      entries: listOf(BANKTRANLIST ? BANKTRANLIST.STMTTRN : undefined).map(({ DTPOSTED, TRNAMT }) => ({
        date: dayOf(DTPOSTED),
        amount: toNumber(TRNAMT),
        isBooked: true,
      })),
    })),
  };
}

/** OFX writes YYYYMMDD, and a time after it. */
const dayOf = (text: string | undefined): string =>
  text?.replace(/^(\d{4})(\d{2})(\d{2}).*/, '$1-$2-$3') ?? '';

interface OfxJs {
  parseStrict(text: string): OfxTree;
}

const ofxJs = defineReader<OfxTree>({
  name: 'ofx-js',
  version: '1.1.1',
  released: '2026-05-20',
  format: 'ofx',
  async load(folder) {
    const { parseStrict } = (await import(join(folder, 'ofx-js/ofx.js'))) as OfxJs;
    return (bytes) => parseStrict(decode(bytes));
  },
  toFile: treeToFile,
});

interface NodeOfxParser {
  parse(text: string): OfxTree;
}

const nodeOfxParser = defineReader<OfxTree>({
  name: 'node-ofx-parser',
  version: '0.5.1',
  released: '2021-03-01',
  format: 'ofx',
  async load(folder) {
    const { parse } = loadCommonJs<NodeOfxParser>(folder, 'node-ofx-parser/ofx.js');
    return (bytes) => parse(decode(bytes));
  },
  toFile: treeToFile,
});

interface NormalizedOfx {
  transactions: { amount: string | null; postedAt: string | null }[];
  warnings: readonly unknown[];
}

interface Extracted {
  normalized: NormalizedOfx;
  validate(): { isValid: boolean; warnings: readonly unknown[] };
}

interface OfxDataExtractor {
  Ofx: {
    fromBuffer(bytes: Buffer): {
      toNormalized(options: { amountMode: 'string'; dateMode: 'raw' }): NormalizedOfx;
      validate: Extracted['validate'];
    };
  };
}

const ofxDataExtractor = defineReader<Extracted>({
  name: 'ofx-data-extractor',
  version: '1.5.0',
  released: '2026-03-24',
  format: 'ofx',
  async load(folder) {
    const { Ofx } = (await import(
      join(folder, 'ofx-data-extractor/dist/esm/index.min.js')
    )) as OfxDataExtractor;
    return (bytes) => {
      const ofx = Ofx.fromBuffer(bytes);
      const normalized = ofx.toNormalized({ amountMode: 'string', dateMode: 'raw' });
      return { normalized, validate: () => ofx.validate() };
    };
  },
  toFile: ({ normalized: { transactions, warnings }, validate }) => ({
    isWarned: warnings.length > 0 || !isFaultless(validate()),
    // It gives the entries of all accounts in one list.
    statements: [
      {
        opening: null,
        closing: null,
        entries: transactions.map(({ amount, postedAt }) => ({
          date: dayOf(postedAt ?? undefined),
          amount: toNumber(amount ?? 'NaN'),
          isBooked: true,
        })),
      },
    ].filter(({ entries }) => entries.length > 0),
  }),
});

const isFaultless = ({ isValid, warnings }: ReturnType<Extracted['validate']>): boolean =>
  isValid && warnings.length === 0;

export const OFX_READERS: readonly AnyReader[] = [ofxJs, nodeOfxParser, ofxDataExtractor];
