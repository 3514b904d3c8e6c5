import type { Concern } from './concerns.ts';
import type { Work } from './now-reader.ts';
import type { ConsoleSource } from './source-rows.ts';
import { countOf, timesInARow } from './wording.ts';

/** What is wrong with sources, for the sentence on top of the page Now. */

/** The first failing sources are named. The others are counted. */
const NAMED = 3;

const linkTo = (it: ConsoleSource) => ({ text: `Source ${it.id}`, href: `/ops/sources/${it.id}` });
const LIST = { text: 'Sources', href: '/ops/sources' };

/** Sources whose runs fail, and sources that brought a file which could not be imported. */
export function sourceConcerns({
  sources,
  sourcesInTrouble,
}: Pick<Work, 'sources' | 'sourcesInTrouble'>): Concern[] {
  const { failing, withWrongFile } = sourcesInTrouble;
  const named = sources.filter((it) => it.consecutive_failures > 0).slice(0, NAMED);
  const others = failing - named.length;
  const [wrong] = withWrongFile === 1 ? sources.filter((it) => it.consecutive_failures === 0) : [];
  return [
    ...named.map(
      (it): Concern => ({
        severity: 'failing',
        sentence: `${it.customer}: source ${it.id} “${it.title}” has failed ${timesInARow(it.consecutive_failures)}. Last error: ${it.error}`,
        link: linkTo(it),
      }),
    ),
    ...(others > 0
      ? [
          {
            severity: 'failing' as const,
            sentence: `${countOf(others, 'more source is', 'more sources are')} failing.`,
            link: LIST,
          },
        ]
      : []),
    ...(withWrongFile === 0
      ? []
      : [
          {
            severity: 'attention' as const,
            sentence:
              wrong === undefined
                ? `${countOf(withWrongFile, 'source has', 'sources have')} brought a file that could not be imported, or not all of it.`
                : `${wrong.customer}: source ${wrong.id} “${wrong.title}” has brought a file that could not be imported, or not all of it. ${wrong.error}`,
            link: wrong === undefined ? LIST : linkTo(wrong),
          },
        ]),
  ];
}
