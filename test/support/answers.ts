import { expect } from 'vitest';
import { parseExposition } from './exposition.ts';
import { until } from './until.ts';

/** Compares what the console, the command line, the metrics and the API say of what is wrong. */

interface Told {
  kind: string;
  scope: string;
  count: number;
  subject: { type: string; id: number; customer: string } | null;
}

interface Places {
  opsUrl: string;
  /** What `ledgerbell status` prints, with and without --json. */
  status(...options: string[]): Promise<{ stdout: string }>;
  /** What the API shows of a webhook. */
  webhook(id: number): Promise<{ standing: { kind: string }[] }>;
}

const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The name with which the sentence of a trouble begins; null: it has none. */
const nameOf = ({ subject }: Told): string | null => {
  if (subject === null) return null;
  const { type, id, customer } = subject;
  return type === 'import' ? `Import ${id} of ${customer}` : `${customer}: ${type} ${id} `;
};

/**
 * Waits until all of them say the same, because each is read at another moment.
 * @param kinds of which the troubles must be. @returns what they say.
 */
export async function compareAnswers(places: Places, kinds: readonly string[]): Promise<Told[]> {
  const get = async (path: string) =>
    (await fetch(`${places.opsUrl}${path}`, { headers: { accept: 'text/html' } })).text();
  let last: unknown;
  const troubles = await until(
    `the same troubles everywhere: ${kinds.join(', ')}`,
    async () => {
      const [json, shown, page, metrics] = [
        await places.status('--json'),
        await places.status(),
        await get('/ops'),
        await get('/metrics'),
      ];
      const told: Told[] = JSON.parse(json.stdout).troubles;
      const [headline = ''] = shown.stdout.split('\n');
      const items = [
        ...page.matchAll(/<li class="(?:stopped|failing|attention|warning)"><span>([\s\S]*?)<\/li>/g),
      ];
      const counts = Object.fromEntries(
        [...parseExposition(metrics).samples].filter(([name]) => name.startsWith('ledgerbell_troubles')),
      );
      const summed: Record<string, number> = {};
      for (const { kind, scope, count } of told) {
        const name = `ledgerbell_troubles{kind="${kind}",scope="${scope}"}`;
        summed[name] = (summed[name] ?? 0) + count;
      }
      const answers = {
        kinds: told.map(({ kind }) => kind).toSorted(),
        console: items.map(([, item = '']) => textOf(item)),
        headlines: [headline, textOf(/<h1>([\s\S]*?)<\/h1>/.exec(page)?.[1] ?? '')],
        counts,
        summed,
      };
      last = answers;
      const isSame =
        JSON.stringify(answers.kinds) === JSON.stringify([...kinds].toSorted()) &&
        answers.console.length === told.length &&
        told.every((it, index) => answers.console[index]?.startsWith(nameOf(it) ?? '')) &&
        answers.headlines[0] === answers.headlines[1] &&
        JSON.stringify(Object.entries(counts).toSorted()) ===
          JSON.stringify(Object.entries(summed).toSorted());
      return isSame && told;
    },
    150_000,
  ).catch((error: unknown) => {
    throw new Error(`${error}: ${JSON.stringify(last, null, 1)}`);
  });
  for (const { kind, subject } of troubles) {
    if (subject?.type !== 'webhook') continue;
    const { standing } = await places.webhook(subject.id);
    expect(standing.map((it) => `webhook_${it.kind}`)).toContain(kind);
  }
  return troubles;
}
