import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import { mysqlProblem } from '../../database/errors.ts';
import { type ApiEnv, answerError } from '../../http/app.ts';
import type { Log } from '../../platform/log.ts';
import { type PageOptions, sendPage } from './layout.tsx';

/** Answers an error as a page if a browser asks, and otherwise like the API. */
export async function answerErrorPage(error: unknown, c: Context<ApiEnv>, log: Log): Promise<Response> {
  const answer = answerError(error, c, log);
  if (!c.req.header('accept')?.includes('text/html')) return answer;
  const { title, detail } = (await answer.clone().json()) as { title: string; detail: string };
  const isOutage = answer.status === 503;
  return sendPage(
    c,
    { title, status: answer.status as 404 },
    <section class="confirm">
      <h1>{isOutage ? `MySQL ${mysqlProblem(error) ?? 'cannot be reached'}` : title}</h1>
      <p>
        {isOutage
          ? 'This page is read from MySQL. Nothing that was accepted is lost. Reload this page when MySQL works again.'
          : detail.replace(', or this API key cannot see it', '')}
      </p>
      <a class="button primary" href="/ops">
        Now
      </a>
    </section>,
  );
}

export interface Confirmation {
  /** The question, which names what is changed. */
  question: string;
  /** The effect, and how many things it affects. */
  consequences: readonly Child[];
  /** The text of the button that does it. */
  button: string;
  /** Makes the button red, because the action takes something away from somebody. */
  dangerous?: boolean;
  /** Fields that are sent along. */
  fields?: Record<string, string>;
  /** Where "Back" leads. */
  back: string;
}

/** Answers with the page that asks before something is changed. Its form sends a POST to the same path. */
export const sendConfirmation = (
  c: Context,
  section: NonNullable<PageOptions['section']>,
  { question, consequences, button, dangerous = false, fields = {}, back }: Confirmation,
) =>
  sendPage(
    c,
    { title: question, section },
    <section class="confirm">
      <h1>{question}</h1>
      <ul>
        {consequences.map((it) => (
          <li>{it}</li>
        ))}
      </ul>
      <form method="post" action={c.req.path}>
        {Object.entries(fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit" class={dangerous ? 'danger' : 'primary'}>
          {button}
        </button>{' '}
        <a class="button" href={back}>
          Back
        </a>
      </form>
    </section>,
  );
