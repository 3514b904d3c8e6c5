import type { Context } from 'hono';
import type { ApiEnv } from '../../http/app.ts';
import { type CsvOptions, createLineRenderer, renderHeader } from '../../movements/csv.ts';
import type { Page } from '../../movements/transactions.ts';
import type { Log } from '../../platform/log.ts';
import { Problem } from '../../platform/problem.ts';
import { CSV_TYPE } from './listing-query.ts';

/** Answers with the movements of a listing as one CSV file. */

interface CsvAnswer {
  pages: AsyncGenerator<Page>;
  csv: CsvOptions;
  /** Of the file. */
  name: string;
  log: Log;
  /** Called once, when the answer is over. */
  onEnd: () => void;
}

/**
 * Answers with all pages. The first is read before the answer begins, so that most errors have an answer of their own. A page is read when
 * the client has taken the one before. If that fails, the connection breaks off without the last chunk of the body, so that no client takes
 * the file for whole. A client that takes nothing is left by the listener.
 */
export async function answerCsv(
  c: Context<ApiEnv>,
  { pages, csv, name, log, onEnd }: CsvAnswer,
): Promise<Response> {
  c.header('Content-Type', `${CSV_TYPE}; charset=utf-8; header=present`);
  c.header('Content-Disposition', `attachment; filename="${name}"`);
  c.header('Cache-Control', 'no-store, no-transform');
  c.header('X-Accel-Buffering', 'no');
  let isOver = false;
  const end = () => {
    if (!isOver) onEnd();
    isOver = true;
    void pages.return(undefined);
  };
  if (c.req.raw.method === 'HEAD') {
    end();
    return c.body(null);
  }
  const first = await pages.next().catch((error: unknown) => {
    end();
    throw error;
  });
  const render = createLineRenderer(csv);
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      const lines = first.done === true ? '' : render(first.value.transactions);
      controller.enqueue(encoder.encode(renderHeader(csv) + lines));
    },
    async pull(controller) {
      try {
        for (;;) {
          const next = await pages.next();
          if (isOver) return;
          if (next.done === true) {
            controller.close();
            return end();
          }
          const lines = render(next.value.transactions);
          // A page may be empty, because a filter has found nothing yet.
          if (lines !== '') return controller.enqueue(encoder.encode(lines));
        }
      } catch (error) {
        if (isOver) return;
        end();
        // Ends the connection in the middle of the answer.
        c.env.outgoing.destroy();
        logBreak(log, c.get('requestId'), error);
      }
    },
    cancel: end,
  });
  return c.body(stream);
}

/** A deleted key is no fault of the service. */
function logBreak(log: Log, requestId: string, error: unknown): void {
  if (error instanceof Problem) log.info({ requestId, reason: error.message }, 'a CSV broke off');
  else log.error({ err: error, requestId }, 'a CSV broke off');
}
