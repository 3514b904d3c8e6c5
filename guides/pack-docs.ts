import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { pathOf, resolveLink } from './render.ts';

/**
 * Makes the links of a package's documents lead somewhere for whoever has only its tarball. npm runs it in the folder of the package: `before`
 * npm packs, and `after` it. Links lead to documents of the tarball, or to the pages of a service: DOCS_URL, by default those of `npm start`.
 */

const ROOT = join(import.meta.dirname, '..');

/** The documents of docs/ that a package has too, in its own folder docs. */
const DOCUMENTS: Readonly<Record<string, string>> = { statements: 'docs/formats' };

// biome-ignore lint/style/noProcessEnv: this is a program of its own.
const DOCS_URL = (process.env.DOCS_URL ?? 'http://127.0.0.1:3000/docs').replace(/\/$/, '');

/** Changes the links of a document, and leaves its code as it is. */
const changeLinks = (markdown: string, change: (label: string, link: string) => string): string =>
  markdown.replaceAll(
    /^```.*?^```|\[((?:[^\]`]|`[^`]*`)*)\]\(([^)\s]+)\)|`[^`\n]*`/gms,
    (found, label, link) => (link === undefined ? found : change(label, link)),
  );

/**
 * Changes the links of a document of a package.
 * @param file where it stands in the repository.
 * @param place where it stands in the tarball.
 * @param included the folder of the repository that the tarball has as well.
 */
function toPackedLinks(
  markdown: string,
  { file, place, included }: { file: string; place: string; included: string | undefined },
): string {
  return changeLinks(markdown, (label, link) => {
    if (/^(?:[a-z]+:|#)/.test(link)) return `[${label}](${link})`;
    const [, anchor] = link.split('#');
    const target = pathOf(file, link);
    if (included !== undefined && target.startsWith(`${included}/`) && target.endsWith('.md')) {
      const own = relative(dirname(place), target);
      return `[${label}](${own}${anchor === undefined ? '' : `#${anchor}`})`;
    }
    const url = resolveLink(ROOT, file, link);
    return url === null
      ? `${label} (\`${target}\` in the repository)`
      : `[${label}](${DOCS_URL}${url.replace(/^\/docs/, '')})`;
  });
}

const README = 'README.md';
/** The document of the repository, while npm packs. If npm fails meanwhile, it stays, and the next pack puts it back. */
const KEPT = '.README.repository.md';

function before(name: string): void {
  // A pack that was killed has left it.
  if (existsSync(KEPT)) renameSync(KEPT, README);
  const included = DOCUMENTS[name];
  if (included !== undefined) {
    rmSync('docs', { recursive: true, force: true });
    mkdirSync(included, { recursive: true });
    for (const document of readdirSync(join(ROOT, included))) {
      const place = `${included}/${document}`;
      const text = readFileSync(join(ROOT, place), 'utf8');
      writeFileSync(place, toPackedLinks(text, { file: place, place, included }));
    }
  }
  const text = readFileSync(README, 'utf8');
  cpSync(README, KEPT);
  // Others may read the document meanwhile: they find the one or the other, and never a part.
  const changed = `${README}.${process.pid}`;
  const packed = toPackedLinks(text, { file: `packages/${name}/${README}`, place: README, included });
  const [title = '', ...rest] = packed.split('\n\n');
  const note = `Links to guides open in a service that runs at ${DOCS_URL}.`;
  writeFileSync(changed, [title, ...rest.slice(0, 1), note, ...rest.slice(1)].join('\n\n'));
  renameSync(changed, README);
}

if (process.argv[1] === import.meta.filename) {
  if (process.argv[2] === 'before') before(basename(process.cwd()));
  else if (existsSync(KEPT)) renameSync(KEPT, README);
}
