import { type AnyReader, defineReader } from './reader.ts';
import { decode, loadCommonJs, withSign } from './values.ts';

/** Packages of npm that read camt.053. */

interface CamtAmount {
  amount: { value: string; currency: string };
  creditDebitIndicator: string;
}

interface CamtDocument {
  statements: {
    balances: (CamtAmount & { type: string })[];
    transactions: (CamtAmount & { bookingDate: string; status: string })[];
  }[];
}

interface CamtParser {
  parseCamt053(xml: string): Promise<CamtDocument>;
}

const camtParser = defineReader<CamtDocument>({
  name: 'camt-parser',
  version: '1.1.0',
  released: '2025-02-27',
  format: 'camt',
  async load(folder) {
    const { parseCamt053 } = loadCommonJs<CamtParser>(folder, 'camt-parser/dist/index.js');
    return (bytes) => parseCamt053(decode(bytes));
  },
  toFile: ({ statements }) => ({
    isWarned: false,
    statements: statements.map(({ balances, transactions }) => {
      const opening = balances.find(({ type }) => type === 'OPBD');
      const closing = balances.find(({ type }) => type === 'CLBD');
      const isComparable = opening?.amount.currency === closing?.amount.currency;
      return {
        opening: opening === undefined ? null : signed(opening),
        closing: closing === undefined || !isComparable ? null : signed(closing),
        entries: transactions.map((it) => ({
          date: it.bookingDate.slice(0, 10),
          amount: signed(it),
          isBooked: it.status !== 'PDNG' && it.status !== 'INFO',
        })),
      };
    }),
  }),
});

const signed = ({ amount, creditDebitIndicator }: CamtAmount): number =>
  withSign(Number(amount.value), creditDebitIndicator === 'CRDT');

export const CAMT_READERS: readonly AnyReader[] = [camtParser];
