import { appendFileSync, readFileSync } from 'node:fs';
import { Ledgerbell, type Position } from '../../packages/sdk/src/index.ts';

/** A poller that may be killed: each line of its file is a batch, with the position after it. */

const [, , url = '', apiKey = '', file = ''] = process.argv;

interface Line {
  ids: string[];
  position: Position;
}

/** The position of the last whole line. What a kill has cut off was not handled. */
function readPosition(): Position | null {
  const lines = readFileSync(file, 'utf8').split('\n');
  const cut = lines.pop() ?? '';
  if (cut !== '') appendFileSync(file, '\n');
  const whole = lines.findLast((line) => line.endsWith('}'));
  return whole === undefined ? null : (JSON.parse(whole) as Line).position;
}

const ledgerbell = new Ledgerbell({ url, apiKey });
for await (const { movements, position } of ledgerbell.poll({
  position: readPosition(),
  every: 50,
  perPage: 20,
})) {
  const line: Line = { ids: movements.map(({ unique_id }) => unique_id), position };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}
