import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A command that a page shows, with the lines that continue it. */
export interface Snippet {
  page: string;
  line: number;
  command: string;
}

/** Markdown files whose commands are not for readers of this version. */
const NOT_PAGES = /^CHANGELOG\.md$/;

const START = /^ {4,}(?:\$ )?((?:[A-Z_]+=\S+ )*(?:curl|jq|npm run|ledgerbell) .*)$/;

/**
 * The commands in the indented and fenced blocks of every page. A command begins after `$ `, or with one of these words, and goes on while a
 * line ends with `\` or `|`, or a quotation is open.
 */
export function readSnippets(): Snippet[] {
  const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
    encoding: 'utf8',
  });
  return pages
    .trim()
    .split('\n')
    .filter((page) => !NOT_PAGES.test(page))
    .flatMap((page) => {
      const lines = readFileSync(page, 'utf8').split('\n');
      const snippets: Snippet[] = [];
      for (let index = 0; index < lines.length; index += 1) {
        const line = index + 1;
        let [, command] = START.exec(lines[index] ?? '') ?? [];
        if (command === undefined) continue;
        while (isOpen(command) && index + 1 < lines.length) {
          index += 1;
          command += `\n${lines[index]}`;
        }
        snippets.push({ page, line, command });
      }
      return snippets;
    });
}

const isOpen = (command: string): boolean =>
  /[\\|]$/.test(command) || (command.match(/'/g) ?? []).length % 2 === 1;
