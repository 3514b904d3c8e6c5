import { parentPort } from 'node:worker_threads';
import { type ChainStatement, findPeriods, type Period } from '../../../packages/reconcile/src/periods.ts';

/** Code of a worker thread that finds the periods of one account. See find-statements.ts. */

/** A part of the statements, or, after all statements, the request for a part of the periods. */
export type ToChainThread = readonly ChainStatement[] | 'periods wanted';

/** A part of the periods, and whether there are more. `places` are the positions of their statements among the received statements. */
export interface FromChainThread {
  periods: (Omit<Period, 'statements'> & { places: number[] })[];
  areMore: boolean;
}

/** How many periods are in one message. The receiver is busy with a message for about a millisecond. */
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
