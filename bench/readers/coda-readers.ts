import { type AnyReader, defineReader } from './reader.ts';
import { decode, loadModule, toDay } from './values.ts';

/** Packages of npm that read CODA. */

interface CodaFile {
  balance: { old?: { balance: number }; new?: { balance: number } };
  movements: { amount: number; entry_date: Date }[];
}

interface CodaParser {
  parse(text: string): CodaFile;
}

const codaParser = defineReader<CodaFile>({
  name: 'coda-parser',
  version: '0.0.3',
  released: '2024-12-12',
  format: 'coda',
  async load(folder) {
    const { parse } = (await loadModule(folder, 'coda-parser/dist/index.mjs')) as CodaParser;
    return (bytes) => parse(decode(bytes));
  },
  toFile: ({ balance, movements }) => ({
    isWarned: false,
    statements: [
      {
        opening: balance.old?.balance ?? null,
        closing: balance.new?.balance ?? null,
        entries: movements.map((it) => ({ date: toDay(it.entry_date), amount: it.amount, isBooked: true })),
      },
    ],
  }),
});

export const CODA_READERS: readonly AnyReader[] = [codaParser];
