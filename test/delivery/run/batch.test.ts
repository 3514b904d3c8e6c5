import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/delivery/posting/types.ts';
import { endBatch, readAcceptance } from '../../../src/delivery/run/batch.ts';
import { createRun } from '../../../src/delivery/run/run.ts';
import type {
  Delivery,
  EndpointHealth,
  RunCommand,
  RunEvent,
  RunStart,
} from '../../../src/delivery/run/types.ts';
import { healthy } from '../../support/endpoint-health.ts';

const answer = (fields: Partial<Answer> = {}): Answer => ({
  ...{ status: 200, retryAfter: undefined, body: '', error: null, refused: false, aborted: false, posts: 1 },
  ...fields,
});

const delivery = (subjectId: number, fields: Partial<Delivery> = {}): Delivery => ({
  ...{ subjectId, source: 'log', attempts: 0, failures: 0 },
  content: { stored_at: '0' } as Delivery['content'],
  ...fields,
});

const idOf = (subjectId: number) => `msg_1-${subjectId}`;
const IDS = [1, 2, 3].map(idOf);
const JSON_TYPE = 'application/json; charset=utf-8';

describe('what a 2xx says of the events of a batch', () => {
  it.each([
    ['nothing', {}],
    ['a word', { body: 'ok' }],
    ['HTML', { body: '<html>0 failed jobs</html>', contentType: 'text/html' }],
    ['a count of failed ones', { body: '{"summary":{"failed":0}}', contentType: JSON_TYPE }],
    ['a list of failed ones that is empty and deep', { body: '[{"failed":[ ]},{"failed": false}]' }],
    ['null, as Go writes an empty list', { body: '{"failed":null}' }],
    ['a 207 with an empty list', { status: 207, body: '{"failed":[]}' }],
    ['an empty body that is whole', { body: '', contentType: JSON_TYPE }],
    ['an empty body that only the connection ends', { body: '', isOpenEnded: true }],
    ['other JSON', { body: '{"status":"ok"}', contentType: JSON_TYPE }],
    ['a list', { body: '["msg_9-9"]' }],
    ['an empty list of failed ones', { body: '{"failed":[]}' }],
    ['a number', { body: '1', contentType: JSON_TYPE }],
  ])('%s accepts all', (_, fields) => {
    expect(readAcceptance(answer(fields), IDS)).toEqual({ failed: new Set() });
  });

  it('failed accepts the others', () => {
    for (const body of ['{"failed":["msg_1-2"]}', '\uFEFF {"a":1,"failed":["msg_1-2","msg_1-2"]}\n'])
      expect(readAcceptance(answer({ body }), IDS)).toEqual({ failed: new Set(['msg_1-2']) });
  });

  it.each([
    ['JSON that is cut', { body: '{"failed":["msg_1-2"' }],
    ['JSON that is too long', { body: '{"failed":[', isCut: true }],
    ['any text that is too long', { body: 'ok', isCut: true }],
    ['a coding that cannot be read', { body: '(…)', isUnreadable: true }],
    ['a broken connection', { body: 'ok', error: 'closed' }],
    ['text that says it is JSON', { body: 'ok', contentType: JSON_TYPE }],
    ['an unknown id', { body: '{"failed":["msg_1-4"]}' }],
    ['ids that are no list', { body: '{"failed":"msg_1-2"}' }],
    ['ids that are no texts', { body: '{"failed":[2]}' }],
    ['a number', { body: '{"failed":3}' }],
    ['a 207 without failed', { status: 207, body: '{"ok":true}' }],
    ['an empty 207', { status: 207, body: '' }],
    ['an empty text of JSON that only the connection ends', { contentType: JSON_TYPE, isOpenEnded: true }],
    ['HTML with JSON', { body: '<html>{"failed":["x"]}</html>', contentType: 'text/html' }],
    [
      'a warning before the JSON',
      { body: 'Warning: x in y.php\n{"failed":["msg_1-2"]}', contentType: JSON_TYPE },
    ],
    ['JSON within JSON', { body: JSON.stringify({ body: '{"failed" : ["msg_1-2"]}' }) }],
    [
      'JSON that is encoded twice',
      { body: JSON.stringify('{"failed":["msg_1-2"]}'), contentType: JSON_TYPE },
    ],
    ['a list of answers', { body: '[{"failed":["msg_1-2"]}]' }],
  ])('%s accepts nothing', (_, fields) => {
    expect(readAcceptance(answer(fields), IDS)).toEqual({ error: expect.any(String) });
  });
});

const CONTEXT = { now: 0, random: () => 0.5, maxInFlight: 4, retryDelays: [5_000, 30_000] };
const BATCHES = { ordered: false, batchMax: 8 };
const end = (
  ids: readonly number[],
  fields: Partial<Answer>,
  { health = healthy, ...context }: Partial<typeof BATCHES & { health: EndpointHealth }> = {},
) =>
  endBatch(
    {
      deliveries: ids.map((id) => delivery(id)),
      ids: ids.map(idOf),
      ...{ answer: answer(fields), startedAt: 0, durationMs: 5, bytes: 100 },
    },
    health,
    { ...CONTEXT, ...BATCHES, ...context },
  );
const statuses = (ended: ReturnType<typeof endBatch>) =>
  ended.results.map(({ subjectId, status, number }) => `${subjectId} ${status} ${number}`);

describe('the end of a batch', () => {
  it('is the end of each delivery, and its answer is kept once', () => {
    const ended = end([1, 2, 3], { body: 'thanks' });
    expect(statuses(ended)).toEqual(['1 delivered 1', '2 delivered 1', '3 delivered 1']);
    expect(ended.results.map(({ response, batchFirst }) => [response, batchFirst])).toEqual([
      ['thanks', 1],
      ['', 1],
      ['', 1],
    ]);
    expect(ended).toMatchObject({ lastError: null, disable: null, rejected: null });
  });

  it('leaves those that were named to the schedule, and the endpoint is well', () => {
    const ended = end([1, 2, 3], { body: '{"failed":["msg_1-2"]}' });
    expect(statuses(ended)).toEqual(['1 delivered 1', '2 pending 1', '3 delivered 1']);
    expect(ended.results[1]).toMatchObject({ retryIn: 5_000, error: expect.stringContaining('failed') });
    expect(ended.health.consecutiveFailures).toBe(0);
  });

  it('is one failure of the endpoint if nothing is accepted, and all come back together', () => {
    for (const fields of [{ status: 500 }, { body: '{"failed":' }, { body: '{"failed":["x"]}' }]) {
      const ended = end([1, 2, 3], fields);
      expect(statuses(ended)).toEqual(['1 pending 1', '2 pending 1', '3 pending 1']);
      expect(new Set(ended.results.map(({ retryIn }) => retryIn)).size).toBe(1);
      expect(ended.health.consecutiveFailures).toBe(1);
      expect(ended.lastError).not.toBeNull();
    }
  });

  it.each([400, 413, 422])(
    'that is rejected with %s uses up no attempt, and the next has half as many',
    (status) => {
      const ended = end([1, 2, 3], { status, body: 'no' });
      expect(ended.results).toEqual([]);
      expect(ended.rejected).toEqual({
        ...{
          firstId: 1,
          lastId: 3,
          events: 3,
          statusCode: status,
          startedAt: 0,
          durationMs: 5,
          response: 'no',
        },
      });
      expect(ended.lastError).toBe(`answered ${status}`);
      expect(ended.health).toMatchObject({ batchLimit: 2, consecutiveRejections: 1, consecutiveFailures: 0 });
      expect(statuses(end([3], { status }))).toEqual(['3 pending 1']);
    },
  );

  it('that was sent before a smaller one was rejected changes nothing', () => {
    const health = { ...healthy, batchLimit: 1 };
    expect(end([1, 2, 3, 4], { status: 422 }, { health }).health.batchLimit).toBe(1);
  });

  it('that is accepted doubles the next one, up to the limit of the webhook', () => {
    const nextAfter = (batchLimit: number | null) =>
      end([1, 2], { body: '{"failed":["msg_1-2"]}' }, { health: { ...healthy, batchLimit } }).health
        .batchLimit;
    expect([1, 3, 4, null].map(nextAfter)).toEqual([2, 6, null, null]);
  });

  it('that fails says nothing of how many events the next one may have', () => {
    for (const fields of [{ status: 500 }, { body: '{"failed":' }])
      expect(end([1, 2], fields, { health: { ...healthy, batchLimit: 2 } }).health.batchLimit).toBe(2);
  });

  it('opens the circuit with the 30th rejection in a row', () => {
    let health: EndpointHealth = { ...healthy, consecutiveRejections: 28 };
    health = end([1, 2], { status: 422 }, { health }).health;
    expect(health.openUntil).toBeNull();
    health = end([1, 2], { status: 422 }, { health }).health;
    expect(health.openUntil).toBeGreaterThan(0);
  });

  it('of an ordered webhook says nothing of what follows the first failed one', () => {
    const named = end([1, 2, 3], { body: '{"failed":["msg_1-2"]}' }, { ordered: true });
    expect(statuses(named)).toEqual(['1 delivered 1', '2 pending 1']);
    expect(statuses(end([1, 2, 3], { status: 500 }, { ordered: true }))).toEqual(['1 pending 1']);
  });
});

const start = (fields: Partial<RunStart>): RunStart => ({
  ...{
    revision: 1,
    ordered: false,
    maxInFlight: 2,
    rateLimit: null,
    rateWait: 0,
    health: healthy,
    isHealthShared: false,
  },
  ...{
    lastError: null,
    cursor: { sentThrough: 0, highestRecordedId: 0 },
    hasBacklog: true,
    filtersVersion: 1,
  },
  ...{
    retryIn: null,
    replaying: false,
    retryDelays: [5_000],
    sliceLength: 3_000,
    longestRun: 60_000,
    linger: 3_000,
  },
  batch: { max: 3, waitMs: 0, dueIn: 0, maxBytes: 1_000, bytesOf: () => 100 },
  ...fields,
});

/** A run whose first read of the log has these movements. */
function createBatchRun(fields: Partial<RunStart>, ids: readonly number[], complete = true) {
  const run = createRun(start(fields), 0);
  const handle = (event: RunEvent, now = 0) =>
    run.handle(event, { now, random: () => 0.5, mostInFlight: 100 });
  const read = (more: readonly number[], now = 0, isComplete = true) =>
    handle(
      {
        type: 'log read',
        deliveries: more.map((id) => delivery(id)),
        ...{ through: more.at(-1) ?? 0, complete: isComplete, filtersVersion: 1 },
      },
      now,
    );
  handle({ type: 'started' });
  const commands = read(ids, 0, complete);
  return { handle, read, commands };
}

const sent = (commands: readonly RunCommand[]): number[][] =>
  commands.flatMap((it) =>
    it.type === 'send batch' ? [it.deliveries.map(({ subjectId }) => subjectId)] : [],
  );

const answered = (ids: readonly number[], fields: Partial<Answer> = {}): RunEvent => ({
  type: 'batch answered',
  deliveries: ids.map((id) => delivery(id)),
  ids: ids.map(idOf),
  ...{ answer: answer(fields), startedAt: 0, durationMs: 1, bytes: 1 },
});

describe('a run that sends batches', () => {
  it('fills them, and sends the rest when the log is read', () => {
    const { commands, read } = createBatchRun({ maxInFlight: 8 }, [1, 2, 3, 4, 5, 6, 7]);
    // The first read began before the lease, so the log is read once more.
    expect(sent(commands)).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect(sent(read([]))).toEqual([[7]]);
  });

  it('has as many in flight as the webhook allows', () => {
    const { commands, read, handle } = createBatchRun({}, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    read([]);
    expect(sent(commands)).toHaveLength(2);
    expect(sent(handle(answered([1, 2, 3])))).toEqual([[7, 8, 9]]);
  });

  it('cuts them by their bytes', () => {
    const batch = { max: 10, waitMs: 0, dueIn: 0, maxBytes: 250, bytesOf: () => 100 };
    const { read } = createBatchRun({ batch, maxInFlight: 8 }, [1, 2, 3, 4, 5]);
    expect(sent(read([]))).toEqual([[1, 2], [3, 4], [5]]);
  });

  it('sends less and less of a rejected one before anything else, and then more and more', () => {
    const { read, handle } = createBatchRun({ maxInFlight: 1 }, [1, 2, 3, 4, 5, 6]);
    read([]);
    expect(sent(handle(answered([1, 2, 3], { status: 413 })))).toEqual([[1, 2]]);
    expect(sent(handle(answered([1, 2], { status: 413 })))).toEqual([[1]]);
    expect(sent(handle(answered([1], { status: 413 })))).toEqual([[2]]);
    expect(sent(handle(answered([2])))).toEqual([[3, 4]]);
    expect(sent(handle(answered([3, 4])))).toEqual([[5, 6]]);
  });

  it('goes on where the last run was, and records how far it is without any result', () => {
    const { read, commands, handle } = createBatchRun(
      { maxInFlight: 1, health: { ...healthy, batchLimit: 2 } },
      [1, 2, 3, 4, 5],
    );
    expect(sent([...commands, ...read([])])).toEqual([[1, 2]]);
    const ended = handle(answered([1, 2], { status: 422 }), 3_500);
    expect(sent(ended)).toEqual([]);
    const record = ended.find((it) => it.type === 'record');
    expect(record?.type === 'record' && record.record).toMatchObject({
      results: [],
      rejectedBatches: [{ firstId: 1, lastId: 2, events: 2 }],
      cursor: { sentThrough: 0 },
      health: { batchLimit: 1 },
      lastError: 'answered 422',
      release: true,
    });
  });

  it('ends when a batch waits for longer, and sends nothing of it', () => {
    const batch = { max: 3, waitMs: 10_000, dueIn: 8_000, maxBytes: 1_000, bytesOf: () => 100 };
    const { commands, read } = createBatchRun({ batch }, [1, 2]);
    const later = read([]);
    expect(sent([...commands, ...later])).toEqual([]);
    expect(later).toContainEqual(
      expect.objectContaining({
        type: 'record',
        record: expect.objectContaining({ release: true, results: [] }),
      }),
    );
  });

  it('waits itself for a short time', () => {
    const batch = { max: 3, waitMs: 300, dueIn: 300, maxBytes: 1_000, bytesOf: () => 100 };
    const { commands, read, handle } = createBatchRun({ batch }, [1, 2]);
    expect([...commands, ...read([])]).toContainEqual({ type: 'set timer', at: 300 });
    expect(sent(handle({ type: 'timer' }, 300))).toEqual([[1, 2]]);
  });

  it('begins a new wait for what comes after everything was sent', () => {
    const batch = { max: 3, waitMs: 400, dueIn: 0, maxBytes: 1_000, bytesOf: () => 100 };
    const { read, handle } = createBatchRun({ batch }, [1]);
    expect(sent(read([]))).toEqual([[1]]);
    handle(answered([1]), 10);
    handle({ type: 'woken', reread: false }, 20);
    expect(sent(read([2], 30))).toEqual([]);
    expect(sent(handle({ type: 'timer' }, 430))).toEqual([[2]]);
  });

  it('sends retries that are due while new deliveries wait', () => {
    const batch = { max: 3, waitMs: 10_000, dueIn: 8_000, maxBytes: 1_000, bytesOf: () => 100 };
    const { handle, read } = createBatchRun({ batch, retryIn: 0 }, [11]);
    read([]);
    const retried = [1, 2].map((id) => delivery(id, { source: 'retries', attempts: 1, failures: 1 }));
    expect(sent(handle({ type: 'retries read', deliveries: retried, nextIn: null }))).toEqual([[1, 2]]);
  });

  it('sends what it has, if the log is read so slowly that its time is over before', () => {
    const { read } = createBatchRun({}, [1], false);
    expect(sent(read([2], 3_001, false))).toEqual([[1, 2]]);
  });

  it('of an ordered webhook is blocked by the first failed one', () => {
    const { read, handle } = createBatchRun({ ordered: true, maxInFlight: 1 }, [1, 2, 3, 4]);
    read([]);
    const commands = handle(answered([1, 2, 3], { body: '{"failed":["msg_1-2"]}' }));
    expect(sent(commands)).toEqual([]);
    const record = commands.find((it) => it.type === 'record');
    expect(record?.type === 'record' && record.record).toMatchObject({
      cursor: { sentThrough: 2 },
      results: [
        { subjectId: 1, status: 'delivered' },
        { subjectId: 2, status: 'pending' },
      ],
      release: true,
    });
  });

  const retried = (ids: readonly number[]) =>
    ids.map((id) => delivery(id, { source: 'retries', attempts: 1, failures: 1 }));

  it('of an ordered webhook sends its retries in batches, and is blocked only from the one that fails again', () => {
    const { handle, read } = createBatchRun({ ordered: true, maxInFlight: 1, retryIn: 0 }, [11]);
    read([]);
    const commands = handle({ type: 'retries read', deliveries: retried([1, 2, 3, 4]), nextIn: 500 });
    expect(sent(commands)).toEqual([[1, 2, 3]]);
    expect(sent(handle({ ...answered([1, 2, 3]), deliveries: retried([1, 2, 3]) } as RunEvent))).toEqual([
      [4],
    ]);
    const ended = handle({
      ...answered([4], { body: '{"failed":["msg_1-4"]}' }),
      deliveries: retried([4]),
    } as RunEvent);
    expect(sent(ended)).toEqual([]);
  });

  it('of an ordered webhook goes on after an event that has failed for good', () => {
    const { read, handle } = createBatchRun({ ordered: true, maxInFlight: 1, retryDelays: [] }, [1, 2, 3, 4]);
    read([]);
    expect(sent(handle(answered([1, 2, 3], { body: '{"failed":["msg_1-2"]}' })))).toEqual([[3, 4]]);
  });
});
