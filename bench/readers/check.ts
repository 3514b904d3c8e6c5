import type { BankFile, ExpectedRow } from './files.ts';
import type { LoadedReader, ReadFile, ReadStatement } from './reader.ts';

/** Compares what a reader returns with the known content of files. */

export interface Checked {
  files: number;
  /** Read without an exception, with at least one statement. */
  read: number;
  rows: number;
  right: number;
  /** The names of files that are read wrongly, while the reader says nothing. */
  silent: string[];
  /** The names of other files, and why they count as not read or not right. For the terminal. */
  loud: string[];
}

export async function checkReader(reader: LoadedReader, files: readonly BankFile[]): Promise<Checked> {
  const checked: Checked = { files: files.length, read: 0, rows: 0, right: 0, silent: [], loud: [] };
  for (const { name, bytes, rows } of files) {
    checked.rows += rows?.length ?? 0;
    const file = await readOrFail(reader, bytes);
    if (typeof file === 'string') {
      checked.loud.push(`${name}: ${file}`);
      continue;
    }
    if (file.statements.length > 0) checked.read += 1;
    const right = rows === null ? 0 : countRight(file, rows);
    checked.right += right;
    const faults = [
      ...(file.statements.length === 0 ? ['nothing read'] : []),
      ...(rows === null || (right === rows.length && right === countEntries(file)) ? [] : ['rows differ']),
      ...(file.statements.every(addsUp) ? [] : ['balances differ']),
    ];
    const isFault = faults.some((it) => it !== 'nothing read');
    if (isFault && !file.isWarned) checked.silent.push(`${name}: ${faults.join(', ')}`);
    else if (faults.length > 0) checked.loud.push(`${name}: ${faults.join(', ')}`);
  }
  return checked;
}

/** @returns the message of the exception. */
async function readOrFail(reader: LoadedReader, bytes: Buffer): Promise<ReadFile | string> {
  try {
    return (await reader.read(bytes)).file;
  } catch (error) {
    return String(error).split('\n', 1)[0] ?? '';
  }
}

export const countEntries = ({ statements }: ReadFile): number =>
  statements.reduce((sum, { entries }) => sum + entries.length, 0);

/** How many of the expected rows are among the entries, each as often as it is expected. */
function countRight({ statements }: ReadFile, rows: readonly ExpectedRow[]): number {
  const left = statements.flatMap(({ entries }) => entries).map((it) => keyOf(it.date, it.amount));
  return rows.filter(({ date, dc, amount }) => {
    const at = left.indexOf(keyOf(date, dc === 'Credit' ? Number(amount) : -Number(amount)));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  }).length;
}

const keyOf = (date: string, amount: number): string => `${date} ${amount.toFixed(2)}`;

/** Half a hundredth, below which floats do not differ. */
const SAME = 0.005;

function addsUp({ opening, closing, entries }: ReadStatement): boolean {
  if (opening === null || closing === null) return true;
  const moved = entries.reduce((sum, { amount, isBooked }) => sum + (isBooked ? amount : 0), 0);
  return Math.abs(opening + moved - closing) < SAME;
}
