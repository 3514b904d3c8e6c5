import type { Context } from 'hono';
import type { ApiEnv } from '../../http/environment.ts';
import { answerError } from '../../http/problem.ts';
import type { Log } from '../../log.ts';
import { sendPage } from './layout.tsx';

/** Answers an error as a page where a browser asks, and otherwise like the API. */
export async function answerErrorPage(error: unknown, c: Context<ApiEnv>, log: Log): Promise<Response> {
  const answer = answerError(error, c, log);
  if (!c.req.header('accept')?.includes('text/html')) return answer;
  const { title, detail } = (await answer.clone().json()) as { title: string; detail: string };
  const isOutage = answer.status === 503;
  return sendPage(
    c,
    { title, status: answer.status as 404 },
    <section class="confirm">
      <h1>{isOutage ? 'MySQL cannot be reached' : title}</h1>
      <p>
        {isOutage
          ? 'This page is read from MySQL. Nothing that was accepted is lost. Reload this page when MySQL is back.'
          : detail.replace(', or this API key cannot see it', '')}
      </p>
      <a class="button primary" href="/ops">
        Now
      </a>
    </section>,
  );
}
