import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/delivery/posting/types.ts';
import { toOutcome } from '../../../src/delivery/run/attempt.ts';

const answer = (fields: Partial<Answer>): Answer => ({
  status: null,
  retryAfter: undefined,
  body: '',
  error: null,
  refused: false,
  aborted: false,
  posts: 1,
  ...fields,
});
const endpoint = { kind: 'failed', cause: 'endpoint' };
const body = { kind: 'failed', cause: 'body' };

describe('the outcome of an attempt', () => {
  it.each([
    [200, { kind: 'delivered' }],
    [201, { kind: 'delivered' }],
    [204, { kind: 'delivered' }],
    [299, { kind: 'delivered' }],
    [300, endpoint],
    [301, endpoint],
    [302, endpoint],
    [307, endpoint],
    [308, endpoint],
    [400, body],
    [401, endpoint],
    [402, body],
    [403, endpoint],
    [404, endpoint],
    [405, endpoint],
    [406, body],
    [408, endpoint],
    [410, { kind: 'gone' }],
    [409, body],
    [413, body],
    [422, body],
    [429, { kind: 'throttled', retryAfter: null }],
    [500, endpoint],
    [502, endpoint],
    [503, endpoint],
    [599, endpoint],
  ])('for the answer %i is %j', (status, expected) => {
    expect(toOutcome(answer({ status }), 0)).toEqual(expected);
  });

  it('is throttled for a 503 with Retry-After, but not for a 500 with Retry-After', () => {
    expect(toOutcome(answer({ status: 503, retryAfter: '7' }), 0)).toEqual({
      kind: 'throttled',
      retryAfter: 7_000,
    });
    expect(toOutcome(answer({ status: 500, retryAfter: '7' }), 0)).toEqual(endpoint);
  });

  it('without an answer counts against the endpoint', () => {
    expect(toOutcome(answer({ error: 'ECONNREFUSED' }), 0)).toEqual(endpoint);
  });

  it('on a connection that the guard refused is refused', () => {
    expect(toOutcome(answer({ refused: true, error: 'private' }), 0)).toEqual({ kind: 'refused' });
  });

  it('is decided by the status line, even if the rest of the answer broke off', () => {
    expect(toOutcome(answer({ status: 200, error: 'other side closed' }), 0)).toEqual({ kind: 'delivered' });
  });
});
