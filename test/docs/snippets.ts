import { readFileSync } from 'node:fs';
import { listFiles } from './repository-files.ts';

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
 * Reads the requests and commands in the indented blocks of every page.
 */
export function readSnippets(): Snippet[] {
  return listFiles('*.md')
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

/** Whether a command goes on in the next line: after `\` or `|`, within a quotation, and up to the END of a here-document. */
export const isOpen = (command: string): boolean =>
  command.includes('<<')
    ? !command.endsWith('\nEND')
    : /[\\|]$/.test(command) || (command.match(/'/g) ?? []).length % 2 === 1;
