import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Listener = (request: IncomingMessage, answer: ServerResponse) => void;

/**
 * Works on the requests of one connection one after the other, each when the answer before it has left. A client may send
 * requests ahead (RFC 9112, section 9.3.2), and Node hands over all of them at once: one that reads nothing would have
 * hundreds of pages made, and kept until it does.
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
