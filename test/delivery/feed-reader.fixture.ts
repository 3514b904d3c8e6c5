import { appendFileSync } from 'node:fs';

/**
 * A reader that may be killed. It writes each event to its file before it asks for the next page, and keeps its cursor only in memory. Lines:
 * `E <id>` for an event, and `A` when the events before the last page are acknowledged.
 */

const [, , url = '', apiKey = '', file = ''] = process.argv;

let cursor: string | null = null;
for (;;) {
  const query = `limit=20&wait=5${cursor === null ? '' : `&cursor=${cursor}`}`;
  try {
    const answer = await fetch(`${url}?${query}`, { headers: { Authentication: apiKey } });
    if (answer.status !== 200) throw new Error(`answered ${answer.status}`);
    const page = (await answer.json()) as { events: { id: string }[]; cursor: string };
    const lines = [...(cursor === null ? [] : ['A']), ...page.events.map(({ id }) => `E ${id}`)];
    appendFileSync(file, lines.map((line) => `${line}\n`).join(''));
    cursor = page.cursor;
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
