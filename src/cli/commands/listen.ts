import { once } from 'node:events';
import type { Command } from 'commander';
import { type CommandContext, Failure, oneLine } from '../context.ts';
import { type Received, startReceiver } from '../receiver.ts';
import { parsePort } from '../values.ts';
import { type Checked, checkPost, isSecret, transactionIdOf } from '../verification.ts';

const ACCEPTED = 204;
const NOT_GENUINE = 401;

interface Options {
  port: number;
  host: string;
  secret?: string;
  apiSecret?: string;
  json?: boolean;
}

/** `ledgerbell listen` */
export const defineListen = (command: Command, { terminal, signal, readClientConfig }: CommandContext) =>
  command
    .option('--port <port>', 'the port to listen on; 0: any free port', parsePort, 0)
    .option('--host <host>', 'the address to listen on', '127.0.0.1')
    .option('--secret <secret>', 'the webhook’s secret, whsec_… (default: LEDGERBELL_WEBHOOK_SECRET)')
    .option(
      '--api-secret <secret>',
      'the customer’s API secret, to check the hash too (default: LEDGERBELL_API_SECRET)',
    )
    .option('--json', 'print one JSON document per notification')
    .action(async ({ port, host, json, ...given }: Options) => {
      const client = readClientConfig();
      const secret = given.secret ?? client.webhookSecret;
      const apiSecret = given.apiSecret ?? client.apiSecret;
      if (secret === undefined)
        throw new Failure('The webhook’s secret is missing: give --secret, or LEDGERBELL_WEBHOOK_SECRET.');
      if (!isSecret(secret)) {
        const name = given.secret === undefined ? 'LEDGERBELL_WEBHOOK_SECRET' : '--secret';
        throw new Failure(`${name} must be "whsec_" followed by base64, as it was shown.`);
      }
      const receiver = await startReceiver({ port, host }, (received) => {
        const all = checkPost(received.headers, received.body, { secret, apiSecret }, Date.now());
        for (const checked of all)
          terminal.answer(json, documentOf(received, checked), describe(checked, batchOf(received, checked)));
        return all.every(({ problem }) => problem === null) ? ACCEPTED : NOT_GENUINE;
      });
      terminal.note(`Listening on ${receiver.url} (any path). Ctrl-C ends it.`);
      if (!signal.aborted) await once(signal, 'abort');
      await receiver.close();
    });

/** The id of the batch that an event came in. null: it came alone. */
function batchOf({ headers }: Received, { id }: Checked): string | null {
  const sent = headers['webhook-id'];
  return typeof sent === 'string' && sent !== id ? sent : null;
}

const documentOf = (received: Received, checked: Checked) => {
  const { path, headers } = received;
  const { id, fields, event, problem, hash } = checked;
  return {
    id,
    batch: batchOf(received, checked),
    verified: problem === null,
    problem,
    hash,
    path,
    test: headers['webhook-test'] === 'true',
    transaction_id: transactionIdOf(headers, checked),
    date_issue: headers['ledgerbell-date-issue'] ?? null,
    body: event ?? fields,
  };
};

function describe({ id, fields, event, problem, hash }: Checked, batch: string | null): string {
  const together = batch === null ? '' : `, in ${oneLine(batch)}`;
  if (problem !== null) return `✘ ${oneLine(id) || '(no id)'}  ${problem}`;
  if (event !== null)
    return `✔ ${oneLine(id)}  ${oneLine(event.type)}  ${oneLine(JSON.stringify(event.data))}  (signature verified${together})`;
  const {
    dc = '',
    amount = '',
    currency = '',
    bank = '',
    account = '',
    code = '',
    description = '',
  } = fields;
  const checks = hash === 'verified' ? 'signature and hash verified' : 'signature verified';
  const what = [`${dc} ${amount} ${currency}`, `${bank}, ${account}`, `${code} ${description}`].map(oneLine);
  return `✔ ${oneLine(id)}  ${what.join('  ')}  (${checks}${together})`;
}
