import type { Answer } from '../../../src/delivery/posting/types.ts';
import type { RunCommand, RunEvent, RunRecord } from '../../../src/delivery/run/types.ts';
import type { ObservedRun, Post } from './observed-run.ts';
import { createOrderCheck } from './order-check.ts';
import { type BatchEnd, createRunCheck, type RunCheck } from './run-check.ts';
import type { Tables } from './tables.ts';
import type { Timeline } from './timeline.ts';
import { violation } from './violation.ts';

/** Repeating a record takes a few seconds. The circuit may be half-open again by then. */
const SLOWEST_RECORD = 1_000;

/** Watches the guarantees while a schedule runs. It knows what happened, and does not rely on the tables. */
export interface Checks {
  /** The webhook's filter matched these movements when they were stored. */
  matched(ids: readonly number[]): void;
  /** Deliveries that had ended were requested again. */
  pendingAgain(ids: readonly number[]): void;
  /** The row of a movement was deleted. */
  gone(id: number): void;
  /** Movements were withdrawn. @param failed those that were pending, and now have failed. */
  withdrawn(ids: readonly number[], failed: readonly number[]): void;
  replayed(ids: readonly number[]): void;
  runStarts(run: ObservedRun): void;
  happens(run: ObservedRun, event: RunEvent): void;
  commanded(run: ObservedRun, command: RunCommand): void;
  posted(post: Post): void;
  answered(post: Post, answer: Answer): void;
  answeredBatch(batch: readonly Post[], ended: BatchEnd): void;
  recorded(run: ObservedRun, record: RunRecord, wroteHealth: boolean): void;
  /** Whether nothing is pending. */
  isDone(): boolean;
  /** Checks the end, when nothing more happens. */
  atEnd(): void;
  /** POSTs so far. */
  posts(): number;
}

interface Known {
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
}

export function createChecks(timeline: Timeline, tables: Tables, delays: readonly number[]): Checks {
  /** Movements that have to be delivered, in the order of the ids. */
  const expected: { id: number }[] = [];
  const expectedIds = new Set<number>();
  /** The recorded result of each delivery. */
  const known = new Map<number, Known>();
  const posts = new Map<number, Post[]>();
  const againAt = new Map<number, number>();
  const gone = new Set<number>();
  /** The revision of the webhook that the withdrawal of a movement has left. */
  const withdrawnAt = new Map<number, number>();
  const replays: { ids: readonly number[]; at: number }[] = [];
  const runs = new Map<ObservedRun, RunCheck>();
  const order = createOrderCheck({ expected, known, againAt, gone });
  const counts = { posts: 0, pending: 0, delivered: 0, failed: 0 };
  let checkedThrough = 0;
  /** Runs that have given their lease back. They have recorded everything they sent. */
  const released = new Set<ObservedRun>();

  const isHolder = ({ lease }: ObservedRun) =>
    tables.cursor.leaseToken === lease.token && tables.cursor.leaseUntil !== null;

  const checkOf = (run: ObservedRun): RunCheck => runs.get(run) ?? violation(`${run.name} was never started`);

  /** Whether a second POST is allowed although the result of this one is not recorded. */
  const isAbandoned = (post: Post) =>
    post.state === 'aborted' ||
    !post.run.process.alive ||
    post.run.hasFailed ||
    !(isHolder(post.run) || released.has(post.run));

  function setStatus(id: number, to: Known): void {
    const from = known.get(id)?.status;
    if (from !== undefined) counts[from] -= 1;
    counts[to.status] += 1;
    known.set(id, to);
  }

  function checkRelease(run: ObservedRun): void {
    released.add(run);
    const { cursor } = tables;
    if (cursor.healthRevision > run.start.revision) return;
    const limit = checkOf(run).batchLimit();
    const { batch } = run.start;
    if (batch !== null && (cursor.health.batchLimit ?? batch.max) !== limit)
      violation(`${run.name} ends, and it is not recorded that its next batch may have ${limit} events`);
    const openUntil = checkOf(run).openUntil() ?? 0;
    if (openUntil - SLOWEST_RECORD <= timeline.now) return;
    if (cursor.health.openUntil === null)
      violation(`${run.name} ends, and its circuit is not recorded as open`);
  }

  function checkNumbers(): void {
    const { deliveredCount, failedCount } = tables.cursor;
    if (deliveredCount !== counts.delivered || failedCount !== counts.failed) {
      violation(
        `counted ${deliveredCount} delivered and ${failedCount} failed of ${counts.delivered} and ${counts.failed}`,
      );
    }
    if (tables.backlog.matchedCount !== expected.length) violation('matched_count is wrong');
  }

  function checkCursor(): void {
    const { sentThrough, highestRecordedId } = tables.cursor;
    for (
      let it = expected[checkedThrough];
      it !== undefined && it.id <= sentThrough;
      it = expected[checkedThrough]
    ) {
      if (!known.has(it.id)) violation(`sent_through is ${sentThrough}, and ${it.id} has no result`);
      checkedThrough += 1;
    }
    if (highestRecordedId < sentThrough)
      violation(`highest_recorded_id ${highestRecordedId} is behind sent_through`);
  }

  return {
    matched(ids) {
      for (const id of ids) {
        expected.push({ id });
        expectedIds.add(id);
      }
      checkNumbers();
    },
    pendingAgain(ids) {
      for (const id of ids) {
        againAt.set(id, timeline.now);
        setStatus(id, { status: 'pending', attempts: known.get(id)?.attempts ?? 0 });
      }
      checkNumbers();
    },
    gone: (id) => void gone.add(id),
    withdrawn(ids, failed) {
      for (const id of ids) {
        gone.add(id);
        withdrawnAt.set(id, tables.webhook.revision);
      }
      for (const id of failed)
        setStatus(id, { status: 'failed', attempts: (known.get(id)?.attempts ?? 0) + 1 });
      checkNumbers();
    },
    replayed: (ids) => void replays.push({ ids, at: timeline.now }),
    runStarts: (run) => void runs.set(run, createRunCheck(run, delays)),
    happens: (run, event) => checkOf(run).happens(event, timeline.now),
    commanded: (run, command) => checkOf(run).commanded(command, timeline.now),
    posted(post) {
      const { id, run } = post;
      counts.posts += 1;
      if (!expectedIds.has(id)) violation(`${id} is sent and does not match`);
      const withdrawnAtRevision = withdrawnAt.get(id);
      if (withdrawnAtRevision !== undefined && run.start.revision >= withdrawnAtRevision)
        violation(`${id} is sent although it was withdrawn before`);
      // A lease can be taken over when it has expired. The run before knows by its clock when that is.
      if (tables.cursor.leaseToken !== run.lease.token)
        violation(`${run.name} sends ${id} after another run has taken its lease`);
      const before = posts.get(id) ?? [];
      for (const other of isHolder(run) ? before : []) {
        if (other.run === run && other.state === 'in flight') violation(`${id} is in flight twice`);
        if (!other.isRecorded && !isAbandoned(other))
          violation(`${id} is sent again while ${other.run.name} has it in hand`);
      }
      posts.set(id, [...before, post]);
      if (isHolder(run)) {
        const row = known.get(id);
        if (row !== undefined && row.status !== 'pending' && !withdrawnAt.has(id))
          violation(`${id} is sent again although it is ${row.status}`);
        const retry = tables.retries.get(id);
        if (
          row !== undefined &&
          !withdrawnAt.has(id) &&
          (retry?.dueAt ?? Number.POSITIVE_INFINITY) > timeline.now
        )
          violation(`${id} is sent before it is due`);
        const { openUntil } = tables.cursor.health;
        if (openUntil !== null && openUntil > timeline.now)
          violation(`${id} is sent while the circuit is open`);
        if (run.start.ordered) order.check(post, new Set([...checkOf(run).ended, ...post.before]));
      }
      if (!run.start.ordered) order.sentOutOfOrder(id);
    },
    answered(post, answer) {
      checkOf(post.run).answered(post, answer, timeline.now);
    },
    answeredBatch(batch, ended) {
      const [first] = batch;
      if (first !== undefined) checkOf(first.run).answeredBatch(batch, ended, timeline.now);
    },
    recorded(run, record, wroteHealth) {
      for (const { subjectId: id, status, number, failures, retryIn } of record.results) {
        const row = known.get(id);
        // It was being sent when it was withdrawn.
        const isLate = withdrawnAt.has(id) && row !== undefined && row.status !== 'pending';
        if (row !== undefined && row.status !== 'pending' && !isLate)
          violation(`${id} is recorded although it is ${row.status}`);
        if (number !== (row?.attempts ?? 0) + 1 && !isLate)
          violation(`${id} has attempt ${number} after ${row?.attempts ?? 0}`);
        const post = posts
          .get(id)
          ?.findLast((it) => it.run === run && it.state === 'answered' && !it.isRecorded);
        if (post === undefined && !gone.has(id)) violation(`${id} has a result and no POST`);
        if ((status === 'delivered') !== (post?.isSuccess ?? false))
          violation(`${id} is ${status} after its POST was not`);
        if (post !== undefined) {
          post.isRecorded = true;
          if (post.sentAt < (againAt.get(id) ?? 0)) violation(`${id} was asked for again after it was sent`);
          if (failures !== post.delivery.failures + (status === 'delivered' ? 0 : 1))
            violation(`${id} has failed ${failures} times, after ${post.delivery.failures}`);
          if (status === 'pending' && failures > delays.length)
            violation(`${id} goes on after ${failures} failures`);
          if (status === 'failed' && failures <= delays.length)
            violation(`${id} fails for good after ${failures}`);
          if (status === 'pending' && (retryIn ?? -1) < post.retryAfter)
            violation(`${id} is due again before its Retry-After`);
        }
        const delay = delays[failures - 1] ?? 0;
        if (status === 'pending' && (retryIn ?? -1) < delay * 0.79) violation(`${id} is due again too soon`);
        if (id > tables.cursor.highestRecordedId) violation(`${id} has a result beyond highest_recorded_id`);
        setStatus(id, { status: isLate && status === 'pending' ? 'failed' : status, attempts: number });
        checkOf(run).ended.delete(id);
      }
      if (wroteHealth && run.start.revision < tables.cursor.healthRevision) {
        violation(`${run.name} writes its health over one that was reset`);
      }
      if (record.release) checkRelease(run);
      checkNumbers();
      checkCursor();
    },
    isDone: () =>
      counts.pending === 0 &&
      counts.delivered + counts.failed === expected.length &&
      tables.replays.every(({ isFinished }) => isFinished),
    atEnd() {
      checkNumbers();
      checkCursor();
      for (const { id } of expected) {
        const row = known.get(id);
        if (row === undefined || row.status === 'pending') violation(`${id} is pending for ever`);
        const retry = tables.retries.get(id);
        if ((row.status === 'failed') !== (retry !== undefined))
          violation(`${id} is ${row.status}, and its retry is not`);
        if (retry !== undefined && retry.dueAt !== null) violation(`${id} has ended and is due`);
        if (row.status === 'delivered' && !posts.get(id)?.some(({ isSuccess }) => isSuccess))
          violation(`${id} is lost`);
      }
      // Nothing has to be sent of what was withdrawn, so that no run may have passed it.
      const last = expected.findLast(({ id }) => !withdrawnAt.has(id))?.id ?? 0;
      const { sentThrough } = tables.cursor;
      if (sentThrough < last) violation(`sent_through is ${sentThrough} at the end, and not ${last}`);
      for (const { ids, at } of replays) {
        for (const id of ids)
          if (!gone.has(id) && !posts.get(id)?.some(({ sentAt }) => sentAt >= at))
            violation(`${id} was not replayed`);
      }
      for (const run of runs.keys())
        if (run.process.alive && !run.isOver) violation(`${run.name} never ends`);
    },
    posts: () => counts.posts,
  };
}
