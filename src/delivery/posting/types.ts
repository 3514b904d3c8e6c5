import type { Socket } from 'node:net';

/** What one POST is, and how it ended. */

/** One POST. */
export interface PostRequest {
  origin: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** The answer is read as a whole, up to 64 KiB, because it may name events that failed. */
  isBatch?: true;
}

/** How one POST ended. `post` never rejects, so a missing answer is reported here too. */
export interface Answer {
  /** The status code, even if the rest of the answer broke off. null: no status arrived. */
  status: number | null;
  retryAfter: string | undefined;
  /** The beginning of the answer's body as text, at most 4 KiB; 64 KiB for a batch. */
  body: string;
  /** The same without the values of custom headers, for the log. Left out: the same. */
  shown?: string;
  contentType?: string | undefined;
  /** The body is longer than was read. */
  isCut?: boolean;
  /** The body has a coding that cannot be read; that of a batch, also one that has no end. */
  isUnreadable?: boolean;
  /** Only the closing of the connection has ended the body, so that it may not be whole (RFC 9112, section 6.3). */
  isOpenEnded?: boolean;
  /** The error for people to read. null: the answer is complete, or was only cut off for its length. */
  error: string | null;
  /** No DNS server has answered for the name of the endpoint. */
  isUnresolved?: boolean;
  /** The address guard refused the connection. */
  refused: boolean;
  /** `abort` cut the POST short before a status arrived. This says nothing about the receiver. */
  aborted: boolean;
  /** How often the request was sent. 0: there was no connection. 2: once more, because the first connection was stale, or its answer could not be read. */
  posts: number;
  /** The trace of the POST; absent while traces are off. */
  traceId?: string;
}

/** Gets the events of one POST. These are the methods of undici's dispatch handler that the poster needs, and `onConnection`. */
export interface PostHandler {
  onRequestStart(controller: { abort(reason: Error): void }): void;
  /** Called just before the POST is sent. */
  onConnection(socket: Socket): void;
  onResponseStart(
    controller: unknown,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void;
  onResponseData(controller: { abort(reason: Error): void }, chunk: Buffer): void;
  onResponseEnd(): void;
  onResponseError(controller: unknown, error: Error): void;
}
