import { html } from 'hono/html';
import type { Child } from 'hono/jsx';

interface HtmlPage {
  /** The title of the browser's tab, without the product's name. */
  title: string;
  /** The paths of its style sheets. */
  styles: readonly string[];
  /** The classes of its body. */
  className?: string;
  /** `data-audience` of its body, for scripts. */
  audience?: string;
}

/** A page of HTML: what the pages of the console and of /docs have in common. The element `main` of the content has the id `main`. */
export function htmlPage({ title, styles, className, audience }: HtmlPage, content: Child) {
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title} · Ledgerbell</title>
        <link rel="icon" href="data:," />
        {styles.map((path) => (
          <link rel="stylesheet" href={path} />
        ))}
      </head>
      <body class={className} data-audience={audience}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        {content}
      </body>
    </html>
  );
  return html`<!doctype html>${page}`;
}
