import own from '../../packages/statements/package.json' with { type: 'json' };
import { readStatements, type Statement } from '../../packages/statements/src/index.ts';
import { type AnyReader, BANK_FORMATS, type BankFormat, defineReader } from './reader.ts';

/** The package of this project. */
export const OWN_READERS: readonly AnyReader[] = BANK_FORMATS.map(ownReader);

function ownReader(format: BankFormat): AnyReader {
  return defineReader<Statement[]>({
    name: own.name,
    version: own.version,
    released: null,
    format,
    load: async () => async (bytes) => {
      const statements: Statement[] = [];
      for await (const statement of readStatements(bytes)) statements.push(statement);
      return statements;
    },
    toFile: (statements) => ({
      isWarned: statements.some(isWarned),
      statements: statements.map(({ opening, closing, entries }) => ({
        opening: opening === null ? null : Number(opening.amount),
        closing: closing === null ? null : Number(closing.amount),
        entries: entries.map(({ date, amount, status }) => ({
          date,
          amount: Number(amount),
          isBooked: status === 'booked',
        })),
      })),
    }),
  });
}

/** As its README says what to check. */
const isWarned = ({ warnings, rejected, difference }: Statement): boolean =>
  warnings.length > 0 || rejected.length > 0 || (difference !== null && difference !== '0.00');
