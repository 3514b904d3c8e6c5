import { parentPort } from 'node:worker_threads';
import { decideAll, type RowDecisions, type RowsToDecide } from './decide-rows.ts';
import type { FileStatement } from './file-entries.ts';

/** Code of a worker thread that decides which rows of a file are stored movements. See decide-safely.ts. */

/** A part of the input, or the request for a part of the decisions. */
export type ToDecideThread =
  | {
      begin: Pick<RowsToDecide, 'accountId' | 'importId' | 'mayAssume'>;
      useNumbers: boolean;
      currency: string | null;
    }
  | { movements: RowsToDecide['stored']['movements'] }
  | { repeated: RowsToDecide['stored']['repeated'] }
  | { headers: RowsToDecide['stored']['headers'] }
  /** A statement of the file, whose rows follow. */
  | { statement: Omit<FileStatement, 'rows' | 'indexes'> }
  | Pick<FileStatement, 'rows' | 'indexes'>
  | 'decisions wanted';

/** A part of the decisions. */
export type FromDecideThread = RowDecisions & { areMore: boolean };

/** How many decisions are in one message. */
const PART = 1_000;

let input: (RowsToDecide & { statements: FileStatement[] }) | null = null;
let decided: RowDecisions | null = null;

parentPort?.on('message', (message: ToDecideThread) => {
  if (message === 'decisions wanted') {
    if (input !== null) decided ??= decideAll(input);
    input = null;
    const identities = decided?.identities.splice(0, PART) ?? [];
    const areMore = (decided?.identities.length ?? 0) > 0;
    const answer: FromDecideThread = {
      identities,
      areMore,
      warnings: areMore ? [] : (decided?.warnings ?? []),
    };
    if (!areMore) decided = null;
    parentPort?.postMessage(answer);
  } else if ('begin' in message) {
    const { begin, useNumbers, currency } = message;
    const stored = { movements: [], repeated: [], headers: [], useNumbers, currency };
    input = { ...begin, stored, statements: [] };
  } else if (input === null) throw new Error('a part came before its beginning');
  else if ('statement' in message) input.statements.push({ ...message.statement, rows: [], indexes: [] });
  else if ('rows' in message) {
    const last = input.statements.at(-1);
    last?.rows.push(...message.rows);
    last?.indexes.push(...message.indexes);
  } else if ('movements' in message) input.stored.movements.push(...message.movements);
  else if ('repeated' in message) input.stored.repeated.push(...message.repeated);
  else input.stored.headers.push(...message.headers);
});
