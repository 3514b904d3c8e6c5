import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Which Markdown files of the repository are pages of /docs, and where each of them is served. */

/** A page of /docs, as it stands in the repository. */
export interface Page {
  /** From the root of the repository: `docs/receiving/flask.md`. */
  file: string;
  /** Where the page is served: `/docs`, `/docs/receiving/flask`. */
  url: string;
  title: string;
  markdown: string;
}

/** The first page. Its headings and links are the navigation. */
export const FIRST_PAGE = 'docs/README.md';

/** Beside docs/: the files, with the end of their addresses. */
const OTHER_FILES: Readonly<Record<string, string>> = {
  'README.md': '/overview',
  'CHANGELOG.md': '/changelog',
};

/** The first page only names the others, and the changelog has all words. */
export const isSearched = ({ file }: Page): boolean => file !== FIRST_PAGE && file !== 'CHANGELOG.md';

/** Where a file is served. null: the file is not a page. */
export function urlOf(file: string): string | null {
  if (file === FIRST_PAGE) return '/docs';
  const other = OTHER_FILES[file];
  if (other !== undefined) return `/docs${other}`;
  const [, path] = /^docs\/(.+)\.md$/.exec(file) ?? /^(packages\/[a-z]+)\/README\.md$/.exec(file) ?? [];
  return path === undefined ? null : `/docs/${path}`;
}

/** The title of a page: its heading of the first level, without marks. */
function titleOf(file: string, markdown: string): string {
  const [, title] = /^# (.+)$/m.exec(markdown) ?? [];
  if (title === undefined) throw new Error(`${file} has no title. Its first line must be "# Title".`);
  return title.replaceAll('`', '');
}

/** Reads all pages. @param root the root of the repository. */
export function readPages(root: string): Page[] {
  const files = [
    ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map((it) => `docs/${it}`),
    ...readdirSync(join(root, 'packages')).map((it) => `packages/${it}/README.md`),
    ...Object.keys(OTHER_FILES),
  ];
  return files.toSorted().flatMap((file) => {
    const url = urlOf(file);
    if (url === null) return [];
    const markdown = readFileSync(join(root, file), 'utf8');
    return [{ file, url, title: titleOf(file, markdown), markdown }];
  });
}
