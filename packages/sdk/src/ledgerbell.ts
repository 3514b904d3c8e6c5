import { ANSWERS, IMPORT, requireMembers } from './answers.ts';
import { createApiClient, readPagesOf, repeatingOf, type SendingOptions } from './api-client.ts';
import { ApiError } from './api-error.ts';
import {
  type FeedEvent,
  type FeedOptions,
  type FeedPage,
  type ReadPage,
  readEvents,
  readPages,
} from './feed.ts';
import { Api } from './generated/sdk.gen.ts';
import type {
  CreateImportData,
  Import,
  ListTransactionsData,
  NewTransaction,
  Transaction,
} from './generated/types.gen.ts';
import {
  addressOfOperators,
  type CustomerName,
  customerHeader,
  type OperatorAccess,
  operatorHeaders,
} from './operator-access.ts';
import { pause, type Repeating, sendRepeatedly } from './repeat.ts';
import { requireOption } from './required-option.ts';
import { requireCsv, UnexpectedAnswerError } from './unexpected-answer-error.ts';

export interface LedgerbellOptions extends SendingOptions {
  /** The address of the API, such as `https://ledgerbell.example`. */
  url: string | undefined;
  apiKey: string | undefined;
}

/** Access to one customer with an operator's token, in place of an API key of the customer. */
export interface OperatedCustomerOptions extends SendingOptions {
  operator: OperatorAccess;
  customer: CustomerName;
}

/** How far a poller has come. It is JSON: store it with what you have done, and begin there again. */
export interface Position {
  /** The largest id that you have. */
  id: number;
  /** The date_readed of that movement. */
  after: string;
}

type ListQuery = NonNullable<ListTransactionsData['query']>;

/** The parameters of a CSV. */
type CsvParameter = 'columns' | 'decimal' | 'bom' | 'raw';

/** Which movements, and in which order. One of starts, ends, after, unique_id and import_id is needed. */
export type MovementsQuery = Omit<ListQuery, 'page' | 'cursor' | 'format' | CsvParameter>;

/** Which movements a CSV has, in which order, and how it is written. */
export type CsvQuery = MovementsQuery & Pick<ListQuery, CsvParameter>;

export interface PollOptions {
  /** Where to go on. null: from the first movement. */
  position: Position | null;
  /** Milliseconds between two listings when there is nothing new. Default: 5,000. */
  every?: number;
  perPage?: number;
  signal?: AbortSignal;
}

export interface UploadOptions {
  /** Such as `application/x-ndjson`, `text/csv`, or `application/octet-stream` for any statement file. */
  contentType: string;
  /** The parameters of `POST /v1/imports`. For a dry run, which is no import, call `createImport`. */
  query?: Omit<NonNullable<CreateImportData['query']>, 'dry_run'>;
  /** Called with the bytes that were sent, and all bytes. After an interruption it begins again. */
  onProgress?: (sent: number, total: number) => void;
  signal?: AbortSignal;
}

/** Earlier than any movement. */
const BEGINNING = '1000-01-01';

/**
 * The API, with a method per operation. A request that is refused throws an `ApiError`, one that is redirected a `RedirectError`, and a success that is not
 * of the API an `UnexpectedAnswerError`.
 */
export class Ledgerbell extends Api {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #repeating: Repeating;

  /** @throws {Error} if the address, the key or the token is missing. */
  constructor(options: LedgerbellOptions | OperatedCustomerOptions) {
    const isOperator = 'operator' in options;
    const url = isOperator
      ? addressOfOperators(options.operator)
      : requireOption('url', 'the address of the API', options.url);
    const headers: Record<string, string> = isOperator
      ? { ...operatorHeaders(options.operator), ...customerHeader(options.customer) }
      : { Authentication: requireOption('apiKey', 'an API key of the customer', options.apiKey) };
    const repeating = repeatingOf(options);
    super({ client: createApiClient(url, headers, repeating, ANSWERS) });
    this.#url = url;
    this.#headers = headers;
    this.#repeating = repeating;
  }

  /**
   * Iterates over all movements that pass the filters, one at a time. It reads page after page, also where a search has found nothing on one.
   * One of starts, ends, after, unique_id and import_id is needed.
   * @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError}
   */
  async *movements(
    query: MovementsQuery,
    { signal }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<Transaction> {
    for await (const page of this.#pages(query, signal)) yield* page;
  }

  /**
   * Reads all movements that pass the filters as one CSV file, in UTF-8. It is never in memory as a whole.
   * @returns the bytes. If the connection breaks off before the end of the file, reading them fails: do not use what came until then.
   * @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError}
   */
  async exportMovements(
    query: CsvQuery,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const url = this.#address('/v1/transactions', { ...query, format: 'csv' });
    const make = () => new Request(url, { headers: this.#headers, signal: signal ?? null });
    const response = await sendRepeatedly(make, this.#repeating, requireCsv);
    if (!response.ok) throw new ApiError(await response.json().catch(() => null), response);
    if (response.body === null)
      throw new UnexpectedAnswerError({ method: 'GET', url }, response, { kind: 'CSV' });
    return response.body;
  }

  /**
   * Lists movements for ever, each once and none left out, while others are stored. Handle the movements of a batch, and store its position with
   * what you have done: after a crash, begin with that position. It ends when the signal is aborted.
   */
  async *poll({
    position,
    every = 5_000,
    perPage = 1_000,
    signal,
  }: PollOptions): AsyncGenerator<{ movements: Transaction[]; position: Position }> {
    let at = position;
    while (signal?.aborted !== true) {
      let found = false;
      const range = at === null ? { starts: BEGINNING } : { after: at.after };
      for await (const page of this.#pages({ ...range, per_page: perPage }, signal)) {
        // `after` is inclusive, in whole seconds: the movements of that second come again.
        const movements = page.filter(({ id }) => at === null || id > at.id);
        const last = movements.at(-1);
        if (last === undefined) continue;
        at = { id: last.id, after: last.date_readed };
        found = true;
        yield { movements, position: at };
      }
      if (!found) await pause(every, signal).catch(() => {});
    }
  }

  /**
   * Acknowledges a page when you ask for the next one, so store all its events before: for example in one transaction, under their unique `id`.
   *
   * Reads the feed of a webhook with the delivery `pull`, one page at a time, the oldest events first. It waits for new events, and yields no
   * empty page. It ends when the signal is aborted. If your loop ends within a page, by `break`, an error or the signal, that page comes again the next time.
   * @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError}
   * @throws {VerificationError} when the hash of an event is wrong. Nothing of its page is yielded.
   */
  feedPages(webhookId: number, options: FeedOptions = {}): AsyncGenerator<FeedPage> {
    return readPages(this.#pageReader(webhookId), options);
  }

  /**
   * Acknowledges the events of a page together, when you ask for the event after its last one, so store each event in the body of your loop. If you collect
   * events to store several at once, use `feedPages`: an event that you have only collected may be acknowledged already, and is lost in a crash.
   *
   * Reads the feed of a webhook with the delivery `pull`, one event at a time, the oldest first. It waits for new events, and ends when the signal
   * is aborted. If your loop ends within a page, by `break`, an error or the signal, all events of that page come again the next time.
   * @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError} @throws {VerificationError} when the hash of an event is wrong.
   */
  feed(webhookId: number, options: FeedOptions = {}): AsyncGenerator<FeedEvent> {
    return readEvents(this.#pageReader(webhookId), options);
  }

  #pageReader(webhookId: number): ReadPage {
    return async (query, signal) => {
      const path = { id: webhookId };
      const { data } = await this.readFeed({ path, query, ...(signal === undefined ? {} : { signal }) });
      return data;
    };
  }

  async *#pages(query: MovementsQuery, signal: AbortSignal | undefined): AsyncGenerator<Transaction[]> {
    const read = (cursor: { cursor?: string }) =>
      this.listTransactions({
        query: { ...query, ...cursor },
        ...(signal === undefined ? {} : { signal }),
      });
    for await (const { transactions } of readPagesOf(this.#url, read)) yield transactions;
  }

  /**
   * Imports movements, as JSON. They are checked as a whole, and refused as a whole.
   * @returns the accepted import. `waitForImport` waits for its end. @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError}
   */
  async importMovements(transactions: NewTransaction[]): Promise<Import> {
    const { data } = await this.createImport({ body: { transactions } });
    // Without dry_run, the response is no dry run.
    return (data as { import: Import }).import;
  }

  /**
   * Imports a file: `await ledgerbell.upload(await openAsBlob('statement.sta'), { contentType: 'application/octet-stream' })`.
   * It is sent again from the beginning after an interruption, and is imported once.
   * @returns the accepted import. `waitForImport` waits for its end. @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError}
   */
  async upload(file: Blob, { contentType, query = {}, onProgress, signal }: UploadOptions): Promise<Import> {
    const url = this.#address('/v1/imports', query);
    const make = () => {
      const body =
        onProgress === undefined ? file : file.stream().pipeThrough(counting(file.size, onProgress));
      // `duplex` is needed for a stream: https://fetch.spec.whatwg.org/#dom-requestinit-duplex
      const init = {
        method: 'POST',
        headers: { ...this.#headers, 'Content-Type': contentType },
        body,
        duplex: 'half' as const,
        signal: signal ?? null,
      };
      return new Request(url, init);
    };
    const response = await sendRepeatedly(make, this.#repeating);
    const answer: unknown = await response.json().catch(() => null);
    if (!response.ok) throw new ApiError(answer, response);
    requireMembers({ method: 'POST', url }, response, answer, IMPORT);
    return (answer as { import: Import }).import;
  }

  /** The address of an operation, as the generated methods have it. */
  #address(path: string, query: Record<string, unknown>): string {
    return this.client.buildUrl({ url: path, query });
  }

  /**
   * Waits until an import has ended.
   * @returns the import, `done` or `failed`. @throws {ApiError} @throws {RedirectError} @throws {UnexpectedAnswerError}
   */
  async waitForImport(
    id: number,
    { every = 1_000, signal }: { every?: number; signal?: AbortSignal } = {},
  ): Promise<Import> {
    for (;;) {
      const { data } = await this.getImport({ path: { id }, ...(signal === undefined ? {} : { signal }) });
      if (data.import.status === 'done' || data.import.status === 'failed') return data.import;
      await pause(every, signal);
    }
  }
}

function counting(total: number, onProgress: (sent: number, total: number) => void) {
  let sent = 0;
  return new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      sent += chunk.byteLength;
      onProgress(sent, total);
      controller.enqueue(chunk);
    },
  });
}
