import { openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Webhook } from 'standardwebhooks';
import { checkNotification } from '../../src/cli/verification.ts';
import { hashOf, type NotifiedBody } from './notified-body.ts';
import { answerLine, arrivalLine } from './receipts.ts';
import type { ReceiverMode } from './receiver-modes.ts';
import { type ChaosWebhook, eventOf, toldBy } from './webhooks.ts';

/**
 * All receivers of a run, in one process. Each webhook has a port, so that one receiver can refuse connections while the others
 * answer. Every POST is written to a file before it is answered.
 */

export interface ReceiverSpec {
  webhookId: string;
  port: number;
  secret: string;
  apiSecret: string;
  event: ChaosWebhook['event'];
  hearing: boolean;
}
export type ToReceivers =
  | { file: string; receivers: ReceiverSpec[] }
  | { webhookIds: string[]; mode: ReceiverMode | 'normal' };

interface Receiver {
  spec: ReceiverSpec;
  server: Server;
  sockets: Set<Socket>;
  mode: ReceiverMode | 'normal';
}

/** A receiver takes up to this many milliseconds to answer, so that faults find more POSTs in flight. */
const WORK = 30;
const MEGABYTE = Buffer.alloc(1024 * 1024, 'x');
/** Milliseconds per byte: the status line is sent after 5 s, but the whole answer only after the deadline of 15 s. */
const DRIP_EVERY = 300;
const FLAP_EVERY = 1_500;
/** After four of these, the time slice of a delivery run is over. Milliseconds. */
const REJECT_AFTER = 800;

const receivers = new Map<string, Receiver>();
let output = -1;
let posts = 0;

function open(spec: ReceiverSpec): Promise<void> {
  const server = createServer((request, response) => {
    receive(receiver, request, response).catch(() => response.destroy());
  });
  const receiver: Receiver = { spec, server, sockets: new Set(), mode: 'normal' };
  server.on('connection', (socket) => {
    receiver.sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => receiver.sockets.delete(socket));
  });
  receivers.set(spec.webhookId, receiver);
  return listen(receiver);
}

const listen = ({ server, spec }: Receiver) =>
  new Promise<void>((resolve) => server.listen(spec.port, '127.0.0.1', resolve));

async function change(receiver: Receiver, mode: Receiver['mode']): Promise<void> {
  const { server, sockets } = receiver;
  receiver.mode = mode;
  if (mode === 'refuses') {
    server.close();
    for (const socket of sockets) socket.resetAndDestroy();
  } else if (!server.listening) await listen(receiver);
  // Closes connections that were left hanging, as when a stuck process is restarted.
  if (mode === 'normal') for (const socket of sockets) socket.destroy();
}

async function receive(
  receiver: Receiver,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const { spec, mode } = receiver;
  const { headers } = request;
  posts += 1;
  const number = `${process.pid}-${posts}`;
  const batch = readBatch(body);
  if (batch !== null) return receiveBatch(receiver, { request, body, batch, number }, response);
  const signedAt = Number(headers['webhook-timestamp']) * 1_000;
  const { id, fields, problem, hash } = checkNotification(headers, body, spec, signedAt);
  const { description = '' } = fields;
  writeSync(
    output,
    arrivalLine(number, {
      webhookId: spec.webhookId,
      message: id,
      transactionId: String(headers['ledgerbell-transaction-id']),
      name: description.slice(0, description.indexOf(' ')),
      at: Date.now(),
      mode,
      problem:
        problem ?? (hash === 'verified' ? misnamed(spec, id, headers['ledgerbell-event']) : `hash ${hash}`),
    }),
  );
  answer(mode, response, () => acceptAll(response, [number]));
}

/** @returns what is wrong with the name of an event; empty: nothing. */
const misnamed = (spec: ReceiverSpec, id: string, name: unknown): string =>
  name === eventOf(spec, id) ? '' : `called ${name}`;

interface Batch {
  batch: string;
  events: { id: string; event?: string; body: NotifiedBody }[];
}

function readBatch(body: Buffer): Batch | null {
  if (!body.subarray(0, 10).toString().startsWith('{"batch"')) return null;
  return JSON.parse(body.toString()) as Batch;
}

/** Writes a line for each event of a batch. */
function receiveBatch(
  { spec, mode }: Receiver,
  { request, body, batch, number }: { request: IncomingMessage; body: Buffer; batch: Batch; number: string },
  response: ServerResponse,
): void {
  const problem = findProblem(spec, request, body, batch);
  const numbers = batch.events.map(({ id, event, body: own }, index) => {
    writeSync(
      output,
      arrivalLine(`${number}.${index}`, {
        ...{
          webhookId: spec.webhookId,
          message: id,
          transactionId: toldBy(id)?.movementId ?? '',
          at: Date.now(),
          mode,
        },
        name: own.description.slice(0, own.description.indexOf(' ')),
        problem:
          problem || (own.hash === hashOf(own, spec.apiSecret) ? misnamed(spec, id, event) : 'hash wrong'),
      }),
    );
    return `${number}.${index}`;
  });
  const isOrdered = request.url?.startsWith('/ordered') === true;
  answer(mode, response, () => answerBatch(response, batch, { numbers, isOrdered }));
}

function findProblem(spec: ReceiverSpec, { headers }: IncomingMessage, body: Buffer, batch: Batch): string {
  if (headers['webhook-id'] !== batch.batch) return 'webhook-id is not the id of the batch';
  if (body.length > MEGABYTE.length && batch.events.length > 1) return 'longer than 1 MiB';
  try {
    // The clocks of the run may be days apart, and the library allows five minutes.
    const timestamp = new Date(Number(headers['webhook-timestamp']) * 1_000);
    const signature = new Webhook(spec.secret).sign(batch.batch, timestamp, body.toString());
    return String(headers['webhook-signature']).split(' ').includes(signature) ? '' : 'signature wrong';
  } catch (error) {
    return String(error);
  }
}

/** Accepts some events, or none, or all. What is accepted is written down when the answer is sent. */
function answerBatch(
  response: ServerResponse,
  { events }: Batch,
  { numbers, isOrdered }: { numbers: readonly string[]; isOrdered: boolean },
): void {
  // A failure holds up an ordered webhook until its retry, so it is seldom there.
  const dice = Math.random() * (isOrdered ? 4 : 1);
  const end = (status: number, text: string) =>
    setTimeout(
      () => response.writeHead(status, { 'content-type': 'application/json' }).end(text),
      (posts * 7) % WORK,
    );
  if (dice < 0.15) {
    // From one on, as the handler of an ordered webhook does, which stops at the first failure; or here and there.
    const from = Math.floor(Math.random() * events.length);
    const isFailed = (index: number) => (isOrdered || dice < 0.08 ? index >= from : index % 3 === from % 3);
    const failed = events.filter((_, index) => isFailed(index)).map(({ id }) => id);
    acceptOnFinish(
      response,
      numbers.filter((_, index) => !isFailed(index)),
    );
    end(200, JSON.stringify({ failed }));
  } else if (dice < 0.19) end(200, '{"failed":["msg_');
  else if (dice < 0.22) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"failed":[');
    setTimeout(() => response.socket?.resetAndDestroy(), 20);
  } else if (dice < 0.23) end(200, '{"failed":["msg_0-0"]}');
  else if (dice < 0.24) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.end(gzipSync('{"failed":["msg_0-0"]}').subarray(0, 10));
  } else if (dice < 0.28 && events.length > 1) end(dice < 0.26 ? 413 : 422, '{}');
  else acceptAll(response, numbers);
}

const acceptOnFinish = (response: ServerResponse, numbers: readonly string[]) =>
  response.on('finish', () => {
    for (const number of numbers) writeSync(output, answerLine(number, Date.now()));
  });

function acceptAll(response: ServerResponse, numbers: readonly string[]): void {
  acceptOnFinish(response, numbers);
  setTimeout(() => response.end('ok'), (posts * 7) % WORK);
}

/** @param answerWell answers as a receiver without a fault. */
function answer(mode: Receiver['mode'], response: ServerResponse, answerWell: () => void): void {
  const { socket } = response;
  switch (mode) {
    case 'normal':
      answerWell();
      return;
    case 'fails':
      response.writeHead(500).end('no');
      return;
    case 'hangs':
      return;
    case 'refuses':
    case 'babbles':
      socket?.end('SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n\0\0\0garbage\xff\r\n\r\n');
      return;
    case 'resets':
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half');
      setTimeout(() => socket?.resetAndDestroy(), 20);
      return;
    case 'drips':
      repeat(socket, DRIP_EVERY, 'HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n'.padEnd(100, '.'));
      return;
    case 'interims':
      repeat(socket, 10, null);
      return;
    case 'floods':
      flood(response);
      return;
    case 'flaps':
      if (Math.floor(Date.now() / FLAP_EVERY) % 2 === 0) answerWell();
      else response.writeHead(503).end();
      return;
    case 'rejects':
      setTimeout(() => response.writeHead(422).end('no'), REJECT_AFTER);
  }
}

/** Sends the text byte by byte; without a text, interim answers for as long as the sender is connected. */
function repeat(socket: Socket | null, every: number, text: string | null): void {
  let sent = 0;
  const timer = setInterval(() => {
    if (socket === null || !socket.writable || (text !== null && sent >= text.length)) clearInterval(timer);
    else socket.write(text === null ? 'HTTP/1.1 102 Processing\r\n\r\n' : (text[sent++] ?? ''));
  }, every);
  socket?.on('close', () => clearInterval(timer));
}

function flood(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': String(100 * MEGABYTE.length) });
  let left = 100;
  const more = () => {
    while (left > 0 && !response.destroyed) {
      left -= 1;
      if (!response.write(MEGABYTE)) return;
    }
    response.end();
  };
  response.on('drain', more);
  response.on('error', () => {});
  more();
}

process.on('message', async (message: ToReceivers) => {
  if ('file' in message) {
    output = openSync(message.file, 'a');
    for (const spec of message.receivers) await open(spec);
  } else {
    for (const id of message.webhookIds) {
      const receiver = receivers.get(id);
      if (receiver !== undefined) await change(receiver, message.mode);
    }
  }
  process.send?.('done');
});
// So a run that was killed leaves no receivers behind.
process.on('disconnect', () => process.exit());
