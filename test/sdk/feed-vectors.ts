import { renderPage } from '../../src/api/routes/feed.ts';
import { createSecretBox } from '../../src/database/secret-box.ts';
import { encodeCursor } from '../../src/delivery/feed/cursor.ts';
import { renderEvent } from '../../src/delivery/feed/page.ts';
import { replayed } from '../../src/delivery/feed/position.ts';
import { buildBody } from '../../src/delivery/posting/body.ts';
import type { NotifiedMovement } from '../../src/delivery/run/types.ts';
import { renderProblem } from '../../src/http/app.ts';
import { nothingSaid } from '../../src/movements/extended.ts';
import { Problem } from '../../src/platform/problem.ts';
import { API_SECRET, DINARS, EMPTY, MOVEMENT, TURKISH, YEN } from './vector-movements.ts';

/** Test vectors for readers of feeds, made by the code that answers them. `vectors.ts` writes them. */

/** Requests that a reader must send, one after the other, and the answers that it gets. */
export interface FeedVector {
  name: string;
  /** Absent: the reader does not verify hashes. */
  apiSecret?: string;
  exchanges: { request: { cursor: string | null }; response: Response }[];
  /** `stored`: the ids of the events that the reader has in the end, in the order of their coming. */
  expected: { ok: true; stored: string[] } | { ok: false; stored: string[]; reason: 'wrong-hash' };
}

interface Response {
  status: number;
  headers: Record<string, string>;
  /** Text, to be sent in UTF-8. */
  body: string;
}

const WEBHOOK = '17';
/** Cursors need a key. It is no secret. */
const BOX = createSecretBox(Buffer.alloc(32, 7).toString('base64'));
/** 2026-09-21T14:00:00Z, in milliseconds. */
const STORED_AT = 1_789_999_200_000;

const cursorAt = (through: number, epoch = 0) => encodeCursor(BOX, WEBHOOK, { epoch, through });

const event = (
  id: string,
  movement: NotifiedMovement,
  hashEncoding: 'hex' | 'raw' = 'hex',
  name?: string,
) => ({
  json: renderEvent({
    id: `msg_${id}`,
    storedAt: STORED_AT,
    event: name,
    body: buildBody(movement, { encoding: 'json', hashEncoding }, API_SECRET),
  }),
});

const at = (id: number, movement = MOVEMENT, hashEncoding?: 'hex' | 'raw') =>
  event(`${WEBHOOK}-${id}`, { ...movement, transaction_id: String(id) }, hashEncoding);

const newAt = (id: number) => event(`${WEBHOOK}-${id}`, MOVEMENT, 'hex', 'NEW_TRANSACTION');

const withdrawalAt = (id: number) =>
  event(`${WEBHOOK}-${id}-withdrawn`, MOVEMENT, 'hex', 'WITHDRAWN_TRANSACTION');

const page = (cursor: string, events: ReturnType<typeof event>[], more = false): Response => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: renderPage({ events, cursor, more }),
});

const refusal = (status: number, problem: Problem): Response => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...lowerCase(problem.headers) },
  body: renderProblem(problem, '3f1c9a52-8d0e-4a57-9a4b-6d1f0c2b7e11'),
});

const lowerCase = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const RETRY_AFTER = { headers: { 'Retry-After': '1' } };

/** Makes all vectors of `feed.json`. */
export function createFeedVectors(): FeedVector[] {
  const ids = (...numbers: number[]) => numbers.map((it) => `msg_${WEBHOOK}-${it}`);
  const vector = (
    name: string,
    exchanges: [cursor: string | null, Response][],
    stored: string[],
    { apiSecret, isWrong = false }: { apiSecret?: string; isWrong?: boolean } = {},
  ): FeedVector => ({
    name,
    ...(apiSecret === undefined ? {} : { apiSecret }),
    exchanges: exchanges.map(([cursor, response]) => ({ request: { cursor }, response })),
    expected: isWrong ? { ok: false, stored, reason: 'wrong-hash' } : { ok: true, stored },
  });
  const [first, second, third] = [cursorAt(101), cursorAt(103), cursorAt(110)];
  const verified = { apiSecret: API_SECRET };
  const extended = {
    ...MOVEMENT,
    extended: { ...nothingSaid('EUR'), value_date: '2026-03-02', end_to_end_id: 'E-1', statement_id: 4 },
  };

  return [
    vector(
      'a page, which the next request acknowledges',
      [
        [null, page(second, [at(101), at(103)])],
        [second, page(second, [])],
      ],
      ids(101, 103),
      verified,
    ),
    vector(
      'two pages',
      [
        [null, page(first, [at(101)], true)],
        [first, page(second, [at(103)])],
        [second, page(second, [])],
      ],
      ids(101, 103),
      verified,
    ),
    vector(
      'withdrawals, one of them of a movement that never came',
      [
        [null, page(first, [newAt(101)], true)],
        [first, page(third, [withdrawalAt(101), withdrawalAt(102)])],
        [third, page(third, [])],
      ],
      [...ids(101), ...ids(101, 102).map((id) => `${id}-withdrawn`)],
      verified,
    ),
    vector('nothing', [[null, page(first, [])]], []),
    vector(
      'an answer without events has another cursor',
      [
        [null, page(first, [at(101)], true)],
        [first, page(third, [])],
        [third, page(third, [])],
      ],
      ids(101),
    ),
    vector(
      'the same events again: each is stored once',
      [
        [null, page(first, [at(101)])],
        [first, page(second, [at(101), at(103)])],
        [second, page(second, [])],
      ],
      ids(101, 103),
    ),
    vector(
      'a replay: after the 410 without a cursor',
      [
        [null, page(second, [at(101), at(103)])],
        [second, refusal(410, replayed())],
        [null, page(cursorAt(110, 1), [at(101), at(103), at(110)])],
        [cursorAt(110, 1), page(cursorAt(110, 1), [])],
      ],
      ids(101, 103, 110),
    ),
    vector(
      'a replay while the first request waits',
      [
        [null, refusal(410, replayed())],
        [null, page(cursorAt(101, 1), [at(101)])],
        [cursorAt(101, 1), page(cursorAt(101, 1), [])],
      ],
      ids(101),
    ),
    vector(
      'too many readers, and a busy service: the same cursor after Retry-After',
      [
        [null, page(first, [at(101)], true)],
        [first, refusal(429, new Problem('too-many-readers', 'Ten readers are waiting.', RETRY_AFTER))],
        [first, refusal(503, new Problem('busy', 'Too many requests.', RETRY_AFTER))],
        [first, page(second, [at(103)])],
        [second, page(second, [])],
      ],
      ids(101, 103),
    ),
    vector(
      'the sample of a test is not stored',
      [
        [null, page(first, [event('test_Ab-_0123456789zZ', MOVEMENT), at(101)])],
        [first, page(first, [])],
      ],
      ids(101),
      verified,
    ),
    ...(['hex', 'raw'] as const).map((encoding) =>
      vector(
        `hashes (${encoding}) of Turkish text, empty fields, three decimals, none, and an extended body`,
        [
          [
            null,
            page(
              third,
              [TURKISH, EMPTY, DINARS, YEN, extended].map((it, index) => at(101 + index, it, encoding)),
            ),
          ],
          [third, page(third, [])],
        ],
        ids(101, 102, 103, 104, 105),
        verified,
      ),
    ),
    vector(
      'a wrong hash: nothing of the page is acknowledged',
      [[null, page(second, [at(101), { ...at(103), json: at(103).json.replace('1250.00', '9250.00') }])]],
      ids(101),
      { ...verified, isWrong: true },
    ),
    vector('another API secret', [[null, page(first, [at(101)])]], [], {
      apiSecret: 'another',
      isWrong: true,
    }),
  ];
}
