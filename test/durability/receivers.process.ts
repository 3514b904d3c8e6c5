import { openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { checkNotification } from '../../src/cli/verification.ts';
import { answerLine, arrivalLine } from './receipts.ts';
import type { ReceiverMode } from './receiver-modes.ts';

/**
 * All receivers of a run, in one process. Each webhook has a port, so that one receiver can refuse connections while the others
 * answer. Every POST is written to a file before it is answered.
 */

export interface ReceiverSpec {
  webhookId: string;
  port: number;
  secret: string;
  apiSecret: string;
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
  const signedAt = Number(headers['webhook-timestamp']) * 1_000;
  const { id, fields, problem, hash } = checkNotification(headers, body, spec, signedAt);
  posts += 1;
  const number = `${process.pid}-${posts}`;
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
      problem: problem ?? (hash === 'verified' ? '' : `hash ${hash}`),
    }),
  );
  answer(mode, response, number);
}

function answer(mode: Receiver['mode'], response: ServerResponse, number: string): void {
  const { socket } = response;
  switch (mode) {
    case 'normal':
      response.on('finish', () => writeSync(output, answerLine(number, Date.now())));
      setTimeout(() => response.end('ok'), (posts * 7) % WORK);
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
      if (Math.floor(Date.now() / FLAP_EVERY) % 2 === 0) answer('normal', response, number);
      else response.writeHead(503).end();
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
