import { type AnyReader, defineReader } from './reader.ts';
import { decode, loadCommonJs, toDay, withSign } from './values.ts';

/** Packages of npm that read MT940. */

interface Mt940jsStatement {
  openingBalance: number;
  closingBalance: number;
  transactions: { date: Date; entryDate?: Date | ''; amount: number }[];
}

interface Mt940js {
  Parser: new () => { parse(text: string): Mt940jsStatement[] };
}

const mt940js = defineReader<Mt940jsStatement[]>({
  name: 'mt940js',
  version: '1.3.5',
  released: '2020-05-03',
  format: 'mt940',
  async load(folder) {
    const { Parser } = loadCommonJs<Mt940js>(folder, 'mt940js/index.js');
    return (bytes) => new Parser().parse(decode(bytes));
  },
  toFile: (statements) => ({
    isWarned: false,
    statements: statements.map(({ openingBalance, closingBalance, transactions }) => ({
      opening: openingBalance,
      closing: closingBalance,
      entries: transactions.map(({ date, entryDate, amount }) => ({
        date: toDay(entryDate || date),
        amount,
        isBooked: true,
      })),
    })),
  }),
});

interface Mt940Balance {
  isCredit: boolean;
  value: number;
}

interface Mt940Statement {
  openingBalance?: Mt940Balance;
  closingBalance?: Mt940Balance;
  transactions: { isCredit: boolean; amount: number; valueDate: string; entryDate: string }[];
}

interface Mt940 {
  read(bytes: Buffer): Promise<Mt940Statement[]>;
}

const signedBalance = (balance: Mt940Balance | undefined): number | null =>
  balance === undefined ? null : withSign(balance.value, balance.isCredit);

const mt940 = defineReader<Mt940Statement[]>({
  name: 'mt940-js',
  version: '1.0.0',
  released: '2020-02-29',
  format: 'mt940',
  async load(folder) {
    const { read } = loadCommonJs<Mt940>(folder, 'mt940-js/lib/index.js');
    return (bytes) => read(bytes);
  },
  toFile: (statements) => ({
    isWarned: false,
    statements: statements.map(({ openingBalance, closingBalance, transactions }) => ({
      opening: signedBalance(openingBalance),
      closing: signedBalance(closingBalance),
      entries: transactions.map(({ entryDate, valueDate, amount, isCredit }) => ({
        date: entryDate || valueDate,
        amount: withSign(amount, isCredit),
        isBooked: true,
      })),
    })),
  }),
});

interface BigNumber {
  toNumber(): number;
}

interface SwiftStatement {
  openingBalance?: BigNumber;
  closingBalance?: BigNumber;
  transactions: { date: Date; entryDate?: Date | ''; amount: BigNumber }[];
}

interface SwiftParser {
  parse(options: { type: 'mt940'; data: string; validate: boolean }): SwiftStatement[];
}

/** @param validate makes it check the balances, and refuse a file where they differ. Its default is not to. */
const swiftParser = (validate: boolean): AnyReader =>
  defineReader<SwiftStatement[]>({
    name: '@centrapay/swift-parser',
    version: '1.0.1',
    released: '2024-10-28',
    format: 'mt940',
    ...(validate ? { setting: 'validate: true' } : {}),
    async load(folder) {
      const { parse } = loadCommonJs<SwiftParser>(folder, '@centrapay/swift-parser/index.js');
      return (bytes) => parse({ type: 'mt940', data: decode(bytes), validate });
    },
    toFile: (statements) => ({
      isWarned: false,
      statements: statements.map(({ openingBalance, closingBalance, transactions }) => ({
        opening: openingBalance?.toNumber() ?? null,
        closing: closingBalance?.toNumber() ?? null,
        entries: transactions.map(({ date, entryDate, amount }) => ({
          date: toDay(entryDate || date),
          amount: amount.toNumber(),
          isBooked: true,
        })),
      })),
    }),
  });

export const MT940_READERS: readonly AnyReader[] = [mt940js, mt940, swiftParser(false), swiftParser(true)];
