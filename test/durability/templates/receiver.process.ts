import { openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { checkNotification, verifySignature } from '../../../src/cli/verification.ts';
import { answerLine, arrivalLine } from './receipts.ts';

/** The one receiver of all customers, in a process of its own. Every POST is written to a file before it is answered. */

/** `fails`: answers 500. */
export type Mode = 'normal' | 'fails';

export type ToReceiver =
  | { file: string; port: number }
  | { secrets: string[] }
  | { apiSecrets: [customerId: string, apiSecret: string][] }
  | { mode: Mode };

/** A receiver takes up to this many milliseconds to answer, so that faults find POSTs in flight. */
const WORK = 30;

/** A failing receiver takes longer, so that two probes at a time would be seen. */
const WORK_OF_FAILURE = 300;

let output = -1;
let mode: Mode = 'normal';
let secrets: string[] = [];
const apiSecrets = new Map<string, string>();
let posts = 0;
let inFlight = 0;

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const at = Date.now();
  posts += 1;
  const number = `${process.pid}-${posts}`;
  inFlight += 1;
  const beside = inFlight;
  response.once('close', () => {
    inFlight -= 1;
  });
  const of = mode;
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const { headers } = request;
  const header = (name: string) => String(headers[name] ?? '');
  const customerId = header('ledgerbell-customer');
  const signedAt = Number(headers['webhook-timestamp']) * 1_000;
  const secret =
    secrets.find((it) => verifySignature(headers, body, it, signedAt) === null) ?? secrets[0] ?? '';
  const apiSecret = apiSecrets.get(customerId);
  const { id, fields, problem, hash } = checkNotification(headers, body, { secret, apiSecret }, signedAt);
  const { description = '' } = fields;
  const line = arrivalLine({
    ...{ number, at, customerId, mode: of, inFlight: beside, hash },
    externalId: decodeURIComponent(header('ledgerbell-external-id')),
    message: id,
    transactionId: header('ledgerbell-transaction-id'),
    name: description.slice(0, description.indexOf(' ')),
    signatures: header('webhook-signature').split(' ').length,
    problem: problem ?? '',
  });
  writeSync(output, line);
  if (of === 'fails') {
    setTimeout(() => response.writeHead(500).end('no'), WORK_OF_FAILURE);
    return;
  }
  response.on('finish', () => writeSync(output, answerLine(number, Date.now())));
  setTimeout(() => response.end('ok'), (posts * 7) % WORK);
}

const server = createServer((request, response) => {
  receive(request, response).catch(() => response.destroy());
});

process.on('message', async (message: ToReceiver) => {
  if ('file' in message) {
    output = openSync(message.file, 'a');
    // A SIGKILL may have left a part of a line.
    writeSync(output, '\n');
    await new Promise<void>((resolve) => server.listen(message.port, '127.0.0.1', resolve));
  } else if ('secrets' in message) ({ secrets } = message);
  else if ('apiSecrets' in message) {
    for (const [id, it] of message.apiSecrets) apiSecrets.set(id, it);
    return; // Nobody waits for an answer.
  } else ({ mode } = message);
  process.send?.('done');
});
// So a run that was killed leaves no receiver behind.
process.on('disconnect', () => process.exit());
