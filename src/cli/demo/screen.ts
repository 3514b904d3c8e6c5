import type { WriteStream } from 'node:tty';

/** The demo's output: lines that stay and, on a terminal, one status line that changes. */
export interface Screen {
  title(text: string): void;
  done(text: string): void;
  failed(text: string): void;
  line(text?: string): void;
  /** Replaces the status line. Without a terminal, prints `waiting` instead, unless it was already the last such text. */
  live(text: string, waiting: string): void;
}

type Output = Pick<WriteStream, 'write'> & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'hasColors'>>;

const CLEAR_LINE = '\r\x1b[2K';
/** ECMA-48, "Select graphic rendition". */
const [BOLD, DIM, RED, GREEN] = [1, 2, 31, 32] as const;

export function createScreen(output: Output): Screen {
  // hasColors() respects NO_COLOR.
  const colored = output.isTTY === true && output.hasColors?.() === true;
  const paint = (code: number, text: string) => (colored ? `\x1b[${code}m${text}\x1b[0m` : text);
  let hasStatusLine = false;
  let printed = '';
  const print = (text: string) => {
    output.write(`${hasStatusLine ? CLEAR_LINE : ''}${text}\n`);
    hasStatusLine = false;
  };
  return {
    title: (text) => print(`\n${paint(BOLD, text)}\n`),
    done: (text) => print(`  ${paint(GREEN, '✔')} ${text}`),
    failed: (text) => print(`  ${paint(RED, '✘')} ${text}`),
    line: (text = '') => print(text === '' ? '' : `  ${text}`),
    live(text, waiting) {
      if (output.isTTY === true) {
        output.write(CLEAR_LINE + paint(DIM, `  … ${text}`.slice(0, (output.columns ?? 80) - 1)));
        hasStatusLine = true;
      } else if (printed !== waiting) {
        printed = waiting;
        print(`  … ${waiting}`);
      }
    },
  };
}
