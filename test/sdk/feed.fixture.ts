import { appendFileSync } from 'node:fs';
import { Ledgerbell } from '../../packages/sdk/src/index.ts';

/** A reader of a feed that may be killed: each line of its file is the id of an event. */

const [, , url = '', apiKey = '', webhookId = '', file = ''] = process.argv;

const ledgerbell = new Ledgerbell({ url, apiKey });
// What a kill has cut off is a line of its own.
appendFileSync(file, '\n');
for await (const { id } of ledgerbell.feed(Number(webhookId), { limit: 10 })) appendFileSync(file, `${id}\n`);
