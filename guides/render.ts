import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import GithubSlugger from 'github-slugger';
import { Marked, type Tokens } from 'marked';
import { type Page, urlOf } from './pages.ts';

/** Renders the Markdown of a page to HTML. */

/** A part of a page, from one heading to the next one. The first one has the title of the page. */
interface Section {
  /** The `id` of its heading. */
  anchor: string;
  heading: string;
  /** 1 to 6. */
  level: number;
  /** What it says, without marks. Code is included. */
  text: string;
  /** The names that its tables explain, such as those of variables. */
  names: string[];
}

interface RenderedPage {
  html: string;
  sections: Section[];
}

/** The anchors of a page as GitHub makes them: those of its headings, and explicit ones. */
export function anchorsOf(markdown: string): string[] {
  const { sections } = render({ file: 'README.md', url: '', title: '', markdown }, () => '');
  return [
    ...sections.map(({ anchor }) => anchor),
    ...[...markdown.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id),
  ];
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const unescapeHtml = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

const INLINE = /<\/?(?:a|b|code|del|em|i|span|strong|sub|sup)\b[^>]*>/g;

/** The text of HTML that was made here. Words of different blocks do not become one. */
const textOf = (html: string): string =>
  unescapeHtml(html.replaceAll(INLINE, '').replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The names in code with which the rows of a table begin. */
const namesIn = ({ rows }: Tokens.Table): string[] =>
  rows.flatMap(([first]) =>
    (first?.tokens ?? []).flatMap((token) => (token.type === 'codespan' ? [String(token.text)] : [])),
  );

/**
 * Where a link of a page leads on /docs.
 * @param root the root of the repository.
 * @returns null for a file of the repository that is not served.
 * @throws {Error} if it leads to a page or a picture that does not exist.
 */
export function resolveLink(root: string, from: string, link: string): string | null {
  if (/^(?:[a-z]+:|#)/.test(link)) return link;
  const [, anchor] = link.split('#');
  const file = pathOf(from, link);
  const image = /^docs\/images\/(.+)$/.exec(file)?.[1];
  const url = image === undefined ? urlOf(file) : `/docs/images/${image}`;
  // Other files are missing where an image is built.
  if (url !== null && !existsSync(join(root, file)))
    throw new Error(`${from} links to ${link}, which does not exist.`);
  return url === null || anchor === undefined ? url : `${url}#${anchor}`;
}

/** The path from the root of the repository to what a link of a file names. */
export const pathOf = (from: string, link: string): string => join(dirname(from), link.split('#')[0] ?? '');

/** Renders a page. @param toUrl where a link of the page leads; null if what it names is not served. */
export function render(page: Page, toUrl: (link: string) => string | null): RenderedPage {
  const slugger = new GithubSlugger();
  const sections: Section[] = [];
  const marked = new Marked({
    gfm: true,
    // What looks like an e-mail address is a part of an example.
    tokenizer: { url: (text) => (/^https?:/.test(text) ? false : undefined) },
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        const html = this.parser.parseInline(tokens);
        const heading = textOf(html);
        const anchor = slugger.slug(heading);
        const isTitle = sections.length === 0;
        sections.push({ anchor, heading, level: depth, text: '', names: [] });
        if (isTitle) return `<h1 id="${anchor}">${html}</h1>\n`;
        return `<h${depth} id="${anchor}"><a href="#${anchor}">${html}</a></h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const html = this.parser.parseInline(tokens);
        const url = toUrl(href);
        return url === null
          ? `${html} (<code>${escapeHtml(pathOf(page.file, href))}</code> in the repository)`
          : `<a href="${escapeHtml(url)}">${html}</a>`;
      },
      image({ href, text }: Tokens.Image) {
        return `<img src="${escapeHtml(toUrl(href) ?? href)}" alt="${escapeHtml(text)}" loading="lazy">`;
      },
      checkbox: ({ checked }: Tokens.Checkbox) => (checked ? '☑ ' : '☐ '),
      code({ text, lang }: Tokens.Code) {
        // Beside the language, a block may have the name of its file.
        const [, file] = lang?.split(' ') ?? [];
        const caption = file === undefined ? '' : `<p class="file">${escapeHtml(file)}</p>`;
        // What can be scrolled must be reached with the keyboard.
        return `<div class="example">${caption}<pre tabindex="0"><code>${escapeHtml(text)}</code></pre></div>\n`;
      },
      table(token: Tokens.Table) {
        const row = (cells: Tokens.TableCell[], tag: 'th' | 'td') =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
        const rows = token.rows.map((cells) => row(cells, 'td')).join('\n');
        return `<div class="table" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>\n${rows}</tbody></table></div>\n`;
      },
    },
  });
  // The sections' texts come from blocks, in the order in which they stand.
  const html = marked
    .lexer(page.markdown)
    .map((token) => {
      const block = marked.parser([token]);
      const section = sections.at(-1);
      if (token.type !== 'heading' && section !== undefined) section.text += ` ${textOf(block)}`;
      if (token.type === 'table') section?.names.push(...namesIn(token as Tokens.Table));
      return block;
    })
    .join('');
  return { html, sections: sections.map((it) => ({ ...it, text: it.text.trim() })) };
}
