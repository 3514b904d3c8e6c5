import { parseDeliveryId } from '../../../src/delivery/delivery.ts';
import type { ClockPort, EnginePorts, LeasedRecord } from '../../../src/delivery/engine/ports.ts';
import { LeaseLostError } from '../../../src/delivery/engine/record-results.ts';
import type { SealedSettings, Settings } from '../../../src/delivery/posting/request.ts';
import type { Answer, PostRequest } from '../../../src/delivery/posting/types.ts';
import { RETRIES_PER_READ } from '../../../src/delivery/run/next-delivery.ts';
import { observeNextRun } from './observed-run.ts';
import type { Process } from './process.ts';
import { between } from './random.ts';
import { readFilters, readLog, readRetries, readWebhook } from './reads.ts';
import { sendBatch, sendPost } from './send-post.ts';
import { violation } from './violation.ts';
import { addJob, ask, happens, latency, note, type World } from './world.ts';
import { disableWebhook, expandReplay, quarantine, recordResults, renewLease, takeLease } from './writes.ts';

/** The ports of one process, with the world in place of MySQL, Redis, the endpoint and the clock. */
export function createEnginePorts(world: World, process: Process): EnginePorts {
  const { timeline, tables, tuning, random, checks, keptReads } = world;
  let leases = 0;

  return {
    random,
    clock: createClock(world, process),
    movementLog: {
      // From MySQL, or from what the process has cached of an earlier read.
      read: (request) =>
        ask(world, process, () => {
          const index = keptReads.length > 0 && random() < 0.2 ? Math.floor(random() * keptReads.length) : -1;
          const read = readLog(tables, request, tuning.page, keptReads[index] ?? null);
          keptReads.push({ ...tables.lock });
          if (keptReads.length > 4) keptReads.shift();
          return read;
        }),
    },
    retries: {
      read(_, { ordered, limit }) {
        const scaled = ordered ? limit : limit - RETRIES_PER_READ + Math.min(RETRIES_PER_READ, tuning.page);
        return ask(world, process, () => readRetries(tables, timeline.now, { ordered, limit: scaled }));
      },
      expandReplay: () =>
        ask(world, process, () => {
          const { again, replaying } = expandReplay(tables, timeline.now, tuning.page);
          checks.pendingAgain(again);
          return { added: again.length, replaying };
        }),
    },
    webhooks: {
      // Two statements, so the filters may be newer than the rest.
      async readState() {
        const { state, refiltered } = await ask(world, process, () => readWebhook(tables, timeline.now));
        if (!refiltered) return state;
        return { ...state, filters: await ask(world, process, () => readFilters(tables)) };
      },
      openSettings,
      async takeLease(request) {
        leases += 1;
        const token = `${process.name}/${leases}`;
        const lease = await ask(world, process, () => takeLease(tables, timeline.now, { ...request, token }));
        if (lease === null) note(world, token, 'gets no lease');
        else observeNextRun(world, process, lease);
        return lease;
      },
      renewLeases: (held) =>
        ask(world, process, () => held.filter((lease) => renewLease(tables, timeline.now, lease))),
      disable: ({ revision }) =>
        ask(world, process, () => disableWebhook(tables, revision)).catch((error: unknown) => {
          fail();
          throw error;
        }),
      claimProbe: () => violation('a webhook without a template probes for nobody else'),
      wakeAfterProbe: () => violation('a webhook without a template probes for nobody else'),
      endProbe: () => violation('a webhook without a template probes for nobody else'),
      quarantine: () => ask(world, process, () => quarantine(tables)),
    },
    results: {
      record: ([first, ...others]) =>
        new Promise((resolve, reject) => {
          // A process has one run at a time for its only webhook, and a run records one thing after the other.
          if (first === undefined || others.length > 0) throw new Error('one record is expected');
          record(first, { resolve: (revision) => resolve([{ revision, health: null }]), reject });
        }),
    },
    jobs: {
      add: (_, delay) =>
        new Promise((resolve, reject) => {
          timeline.after(latency(world), null, () => {
            if (!process.alive && random() < 0.5) return;
            const isAdded = addJob(world, delay);
            timeline.after(1, process, isAdded ? resolve : () => reject(new Error('Redis does not answer')));
          });
        }),
    },
    poster: { post },
  };

  function fail(): void {
    if (process.run !== null) process.run.hasFailed = true;
  }

  function record(
    leased: LeasedRecord,
    { resolve, reject }: { resolve: (revision: number) => void; reject: (error: Error) => void },
  ): void {
    timeline.after(latency(world), null, () => {
      if (!process.alive && random() < 0.5) return;
      const isConnectionError = happens(world, world.faults.record);
      const outcome = isConnectionError && random() < 0.5 ? null : commit(leased);
      const { revision } = tables.webhook;
      timeline.after(latency(world), process, () => {
        if (isConnectionError) reject(new Error('MySQL does not answer'));
        else if (outcome === 'lost') reject(new LeaseLostError());
        else resolve(revision);
      });
    });
  }

  function commit(leased: LeasedRecord) {
    const { health } = tables.cursor;
    const outcome = recordResults(tables, timeline.now, leased);
    const run = world.runs.get(leased.lease.token) ?? violation(`${leased.lease.token} was never started`);
    if (outcome === 'written') checks.recorded(run, leased.record, tables.cursor.health !== health);
    return outcome;
  }

  function post(request: PostRequest): Promise<Answer> {
    const { run } = process;
    return new Promise((resolve) => {
      world.watch(() => {
        const sent = request.body.split(' ').map((text) => {
          const id = Number(parseDeliveryId(text)?.subjectId);
          const delivery = run?.sent.get(id);
          if (run == null || delivery === undefined) violation(`${id} is sent by no run`);
          return { run, id, delivery, sentAt: timeline.now };
        });
        const [only] = sent;
        if (request.isBatch === true) sendBatch(world, sent, resolve);
        else if (only !== undefined) sendPost(world, only, resolve);
      });
    });
  }
}

function createClock({ timeline, random }: World, process: Process): ClockPort {
  const now = () => timeline.now + process.clockOffset;
  return {
    now,
    wallTime: now,
    after(milliseconds, callback) {
      let isCancelled = false;
      timeline.after(milliseconds, process, () => {
        if (!isCancelled) callback();
      });
      return () => {
        isCancelled = true;
      };
    },
    nextPass: (callback) => timeline.after(between(random, 0, 2), process, callback),
  };
}

/** openSettings of settings.ts, without the secrets. The body of a POST is the delivery's id. */
const openSettings = (row: SealedSettings): Settings => ({
  origin: '',
  ordered: row.ordered === 1,
  maxInFlight: row.ordered === 1 ? 1 : row.max_in_flight,
  rateLimit: row.rate_limit,
  health: {
    consecutiveFailures: row.consecutive_failures,
    failingSince: row.failing_since?.getTime() ?? null,
    failingDays: row.failing_days,
    circuitOpenings: row.circuit_openings,
    openUntil: null,
    recoverySuccesses: row.recovery_successes,
    consecutiveRejections: row.consecutive_rejections,
    batchLimit: row.batch_limit,
  },
  batch: row.batch_max === null ? null : { max: row.batch_max, waitMs: row.batch_wait_ms },
  bytesOf: () => 1,
  batchRequest: (events) => ({
    ...{ origin: '', path: '', headers: {}, isBatch: true },
    body: events.map(({ id }) => id).join(' '),
  }),
  redact: (text) => text,
  request: (_, id) => ({ origin: '', path: '', body: id, headers: {} }),
});
