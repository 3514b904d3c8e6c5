import { once } from 'node:events';
import type { Command } from 'commander';
import { type CommandContext, Failure, oneLine } from '../context.ts';
import { type Received, startReceiver } from '../receiver.ts';
import { parsePort } from '../values.ts';
import { type Checked, checkNotification, isSecret } from '../verification.ts';

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
        const checked = checkNotification(received.headers, received.body, { secret, apiSecret }, Date.now());
        terminal.answer(json, documentOf(received, checked), describe(checked));
        return checked.problem === null ? ACCEPTED : NOT_GENUINE;
      });
      terminal.note(`Listening on ${receiver.url} (any path). Ctrl-C ends it.`);
      if (!signal.aborted) await once(signal, 'abort');
      await receiver.close();
    });

const documentOf = ({ path, headers }: Received, { id, fields, event, problem, hash }: Checked) => ({
  id,
  verified: problem === null,
  problem,
  hash,
  path,
  test: headers['webhook-test'] === 'true',
  transaction_id: headers['ledgerbell-transaction-id'] ?? null,
  date_issue: headers['ledgerbell-date-issue'] ?? null,
  body: event ?? fields,
});

function describe({ id, fields, event, problem, hash }: Checked): string {
  if (problem !== null) return `✘ ${oneLine(id) || '(no id)'}  ${problem}`;
  if (event !== null)
    return `✔ ${id}  ${oneLine(event.type)}  ${oneLine(JSON.stringify(event.data))}  (signature verified)`;
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
  return `✔ ${id}  ${what.join('  ')}  (${checks})`;
}
