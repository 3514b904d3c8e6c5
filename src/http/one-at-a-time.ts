import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Listener = (request: IncomingMessage, answer: ServerResponse) => void;

/**
 * Handles the requests of one connection one after the other, each once the previous answer has been sent. A client may
 * pipeline requests (RFC 9112, section 9.3.2), and Node hands over all of them immediately. A client that pipelines without
 * reading could otherwise make the service build hundreds of pages and keep them in memory.
 */
export function oneAtATime(listener: Listener): Listener {
  const latest = new WeakMap<Socket, ServerResponse>();
  return (request, answer) => {
    const { socket } = request;
    const before = latest.get(socket);
    latest.set(socket, answer);
    if (before === undefined || before.closed) return listener(request, answer);
    before.once('close', () => {
      if (!socket.destroyed) listener(request, answer);
    });
  };
}
