import { Counter, Histogram, type Registry } from 'prom-client';

/** Outcomes of attempts, as `Outcome` in src/delivering/run/outcome.ts explains them. */
const OUTCOMES = ['delivered', 'failed', 'throttled', 'gone', 'refused'] as const;

/**
 * Up to a second as usual for HTTP. Connecting may take 5 s and the whole attempt 15 s, so that what is above 15 s was cut off by the
 * timeout.
 */
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

/**
 * Up to 2.5 s: deliveries that succeed immediately. Above, each bound lies between the sums of the retry schedule (5 s, 35 s, 2.6 min,
 * 13 min, 43 min, 2.7 h, 8 h, 18 h … 74 h), so that a bucket says after how many failures a delivery succeeded.
 */
const LATENCY_SECONDS = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 8, 20, 80, 400, 1_500, 6_000, 18_000, 45_000, 78_000, 320_000,
];

/** What is counted of one attempt. Every `AttemptResult` has it. */
export interface CountedAttempt {
  outcome: (typeof OUTCOMES)[number];
  /** The delivery's status after the attempt. */
  status: 'pending' | 'delivered' | 'failed';
  /** Counted from 1 over the life of the delivery. */
  number: number;
  /** Failed attempts on the current retry schedule. A redelivery or a replay starts it again at 0. */
  failures: number;
  /** Milliseconds since 1970. */
  startedAt: number;
  durationMs: number;
  /** When the movement was stored, in milliseconds since 1970; null: it is not stored any more, and nothing was sent. */
  storedAt: number | null;
}

export interface DeliveryMetrics {
  /** Counts attempts whose results are committed. Never throws: by then the results cannot be taken back. */
  recorded(attempts: readonly CountedAttempt[]): void;
  /** Counts a delivery run that another run has taken over. */
  leaseLost(): void;
}

export function createDeliveryMetrics(registry: Registry): DeliveryMetrics {
  const registers = [registry];
  const deliveries = new Counter({
    name: 'ledgerbell_deliveries_total',
    help: 'Deliveries that have ended: delivered, or failed for good after the last attempt.',
    labelNames: ['outcome'],
    registers,
  });
  const attempts = new Counter({
    name: 'ledgerbell_attempts_total',
    help: 'Attempts whose results are recorded, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const duration = new Histogram({
    name: 'ledgerbell_attempt_duration_seconds',
    help: 'Time from the start of a POST to the end of its answer, or to its failure.',
    buckets: ATTEMPT_SECONDS,
    registers,
  });
  const latency = new Histogram({
    name: 'ledgerbell_delivery_latency_seconds',
    help: 'Time from storing a movement to the answer that made its delivery delivered. Without redeliveries and replays.',
    buckets: LATENCY_SECONDS,
    registers,
  });
  const lost = new Counter({
    name: 'ledgerbell_leases_lost_total',
    help: 'Delivery runs that another run has taken over.',
    registers,
  });
  for (const outcome of ['delivered', 'failed']) deliveries.inc({ outcome }, 0);
  for (const outcome of OUTCOMES) attempts.inc({ outcome }, 0);

  return {
    recorded(all) {
      const outcomes = { delivered: 0, failed: 0, throttled: 0, gone: 0, refused: 0 };
      const ended = { delivered: 0, failed: 0, pending: 0 };
      for (const { outcome, status, storedAt, startedAt, durationMs, number, failures } of all) {
        ended[status] += 1;
        if (storedAt === null) continue;
        outcomes[outcome] += 1;
        duration.observe(durationMs / 1_000);
        // An attempt more than the schedule counts: the delivery was sent again on request, perhaps months later.
        const isFirstSchedule = number === failures + 1;
        const waited = startedAt + durationMs - storedAt;
        // The clocks of two machines may differ. histogram.observe throws for what is not a number.
        if (status === 'delivered' && isFirstSchedule && Number.isFinite(waited))
          latency.observe(Math.max(0, waited) / 1_000);
      }
      for (const outcome of OUTCOMES) if (outcomes[outcome] > 0) attempts.inc({ outcome }, outcomes[outcome]);
      if (ended.delivered > 0) deliveries.inc({ outcome: 'delivered' }, ended.delivered);
      if (ended.failed > 0) deliveries.inc({ outcome: 'failed' }, ended.failed);
    },
    leaseLost: () => lost.inc(),
  };
}
