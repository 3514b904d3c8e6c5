import { writeFileSync } from 'node:fs';
import { ACCOUNTS } from './statement/accounts.ts';
import { createRows } from './statement/rows.ts';

/** Writes the example files beside this one; the same bytes on every run: `npx tsx examples/generate.ts`. */

const rows = createRows();
const write = (name: string, text: string) => writeFileSync(new URL(name, import.meta.url), text);

write('movements.ndjson', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
write('movements.json', `${JSON.stringify({ transactions: rows.slice(0, 40) }, null, 2)}\n`);
write('accounts.json', `${JSON.stringify(ACCOUNTS, null, 2)}\n`);
