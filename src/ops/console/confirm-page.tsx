import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import { type PageOptions, sendPage } from './layout.tsx';

export interface Confirmation {
  /** What is asked, as a question that names the thing. */
  question: string;
  /** What will happen, and to how many. */
  consequences: readonly Child[];
  /** The text of the button that does it. */
  button: string;
  /** Whether it takes something away from somebody. The button is then red. */
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
