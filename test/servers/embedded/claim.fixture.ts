import { once } from 'node:events';
import { claim } from '../../../src/servers/running-servers.ts';

/** Claims the record file when it reads a line, prints the result, and runs until its input ends. */
const [record = ''] = process.argv.slice(2);
console.log('at the start');
await once(process.stdin, 'data');
try {
  claim(record);
  console.log('owner');
} catch (error) {
  console.log(error instanceof Error ? error.name : String(error));
}
process.stdin.resume();
