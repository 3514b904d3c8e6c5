import { parentPort } from 'node:worker_threads';
import { type ChainStatement, findPeriods, type Period } from './statement-chain.ts';

/** Runs in a worker thread: finds the periods of one account. See find-periods.ts. */

/** A part of the statements; or a part of the periods is asked for, and all statements have come. */
export type ToChainThread = readonly ChainStatement[] | 'periods wanted';

/** A part of the periods, and whether there are more. Their statements are said by their places among those that came. */
export interface FromChainThread {
  periods: (Omit<Period, 'statements'> & { places: number[] })[];
  areMore: boolean;
}

/** Periods in one message. Whoever takes it is busy with it for about a millisecond. */
const PART = 500;

const statements: ChainStatement[] = [];
let left: FromChainThread['periods'] | null = null;

parentPort?.on('message', (message: ToChainThread) => {
  if (message !== 'periods wanted') return void statements.push(...message);
  left ??= find();
  const answer: FromChainThread = { periods: left.splice(0, PART), areMore: left.length > 0 };
  parentPort?.postMessage(answer);
});

function find(): FromChainThread['periods'] {
  const placeOf = new Map(statements.map(({ id }, place) => [id, place]));
  return findPeriods(statements).map(({ statements, ...period }) => ({
    ...period,
    places: statements.map(({ id }) => placeOf.get(id) as number),
  }));
}
