const LINE_END = /\r\n|[\r\n]/;

/**
 * Splits text at CR LF, LF or CR. In most files all lines end alike, with LF or CR LF, and there this takes a third of the time of the
 * regular expression.
 */
export function splitLines(text: string): string[] {
  if (!text.includes('\r')) return text.split('\n');
  const lines = text.split('\r\n');
  const areAllAlike = lines.every((line) => !line.includes('\n') && !line.includes('\r'));
  return areAllAlike ? lines : text.split(LINE_END);
}
