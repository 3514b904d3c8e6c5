import { formatBatchId, formatDeliveryId } from '../delivery-id.ts';
import type { AttemptTraces } from '../posting/attempt-traces.ts';
import { NOT_SENT } from '../posting/post.ts';
import { eventIdOf, type Settings } from '../posting/request.ts';
import type { Answer, PostRequest } from '../posting/types.ts';
import type { Delivery, RunEvent } from '../run/types.ts';
import type { EnginePorts } from './ports.ts';
import type { PostQueue, RunPosts } from './post-queue.ts';

/** The POSTs of one delivery run: when they may leave, how they are built, and what is reported of them. */

export interface SenderTools extends Pick<EnginePorts, 'poster' | 'dns' | 'clock'> {
  posts: PostQueue;
  /** `undefined`: traces are off. */
  traces?: AttemptTraces | undefined;
}

export interface Sender extends Pick<RunPosts, 'caughtUp' | 'giveBack'> {
  /** Sends a delivery when its turn has come. */
  send(delivery: Delivery): void;
  /** Sends a batch when its turn has come. */
  sendBatch(deliveries: readonly Delivery[]): void;
}

/**
 * @param run.mayPost says whether the run still has its lease at a moment. Asked before each POST.
 * @param run.report takes the events of the POSTs.
 */
export function createSender(
  { posts: queue, traces, poster, dns, clock }: SenderTools,
  {
    id: webhookId,
    customerId,
    templateId,
    settings,
  }: { id: string; customerId: string; templateId: string | null; settings: Settings },
  run: { mayPost(now: number): boolean; report(event: RunEvent): void },
): Sender {
  // The webhooks of a template share the limits, as those of one customer do.
  const posts = queue.open(templateId === null ? customerId : `template ${templateId}`, settings.origin);

  function post(delivery: Delivery): void {
    const id = deliveryIdOf(delivery);
    const startedAt = clock.wallTime();
    exchange(delivery, (timestamp) => settings.request(contentOf(delivery), id, timestamp), {
      startedAt,
      answered(answer, durationMs, bytes) {
        posts.ended();
        run.report({ type: 'answered', delivery, answer, startedAt, durationMs, bytes });
      },
    });
  }

  function postBatch(deliveries: readonly Delivery[]): void {
    const [first] = deliveries;
    if (first === undefined) throw new Error('a batch without deliveries cannot be sent');
    const events = deliveries.map((it) => ({ id: deliveryIdOf(it), content: contentOf(it) }));
    const startedAt = clock.wallTime();
    const batchId = formatBatchId({ webhookId, first: first.subjectId, startedAt });
    exchange(first, (timestamp) => settings.batchRequest(events, batchId, timestamp), {
      startedAt,
      answered(answer, durationMs, bytes) {
        posts.batchEnded();
        const ids = events.map(({ id, content }) => eventIdOf(id, content));
        run.report({ type: 'batch answered', deliveries, ids, answer, startedAt, durationMs, bytes });
      },
    });
  }

  /** Reports that a POST was given back before it began. Deferred, because the state machine may be at work. */
  function notSent(deliveries: readonly Delivery[]): void {
    const [first] = deliveries;
    if (first === undefined) return;
    const of = { answer: NOT_SENT, startedAt: clock.wallTime(), durationMs: 0, bytes: 0 };
    queueMicrotask(() =>
      run.report(
        settings.batch === null
          ? { type: 'answered', delivery: first, ...of }
          : { type: 'batch answered', deliveries, ids: [], ...of },
      ),
    );
  }

  const deliveryIdOf = ({ subjectId }: Delivery) =>
    formatDeliveryId({ webhookId, subjectId: String(subjectId) });

  /** Sends one POST. @param traced the delivery whose trace the POST belongs to. */
  function exchange(
    traced: Delivery,
    build: (timestamp: number) => PostRequest,
    {
      startedAt,
      answered,
    }: {
      startedAt: number;
      answered(answer: Answer, durationMs: number, bytes: number): void;
    },
  ): void {
    const began = clock.now();
    const end = (answer: Answer, bytes: number, ended = clock.now()) =>
      answered(answer, ended - began, bytes);
    // The lease may have been lost while the delivery waited. Then another run sends it.
    if (!run.mayPost(began)) {
      run.report({ type: 'stop' });
      // Deferred, because many POSTs may wait for this slot and each of them would recurse here.
      queueMicrotask(() => end(NOT_SENT, 0));
      return;
    }
    const request = build(Math.floor(startedAt / 1_000));
    const answering =
      traces?.post(request, { webhookId, customerId, delivery: traced }) ?? poster.post(request);
    const bytes = Buffer.byteLength(request.body);
    // The answer to a batch is read before the values of custom headers are removed from it.
    dns?.asks(customerId);
    void answering.then(async (answer) => {
      const ended = clock.now();
      const isSilent =
        answer.isUnresolved === true && (await dns?.isSilentFor(customerId, ended - began)) === true;
      if (isSilent) run.report({ type: 'no DNS' });
      end(
        { ...answer, shown: settings.redact(answer.body), aborted: answer.aborted || isSilent },
        bytes,
        ended,
      );
    });
  }

  return {
    send: (delivery) => posts.add({ begin: () => post(delivery), giveBack: () => notSent([delivery]) }),
    sendBatch: (deliveries) =>
      posts.addBatch({ begin: () => postBatch(deliveries), giveBack: () => notSent(deliveries) }),
    caughtUp: posts.caughtUp,
    giveBack: posts.giveBack,
  };
}

function contentOf({ content }: Delivery): NonNullable<Delivery['content']> {
  if (content === null) throw new Error('a delivery without its content cannot be sent');
  return content;
}
