const FILE_HEADER = /^[\s\uFEFF]*01,[^,\r\n]{0,80},[^,\r\n]{0,80},\s*\d{6}(?:\d{2})?\s*,/;
const GROUP_HEADER = /^[\s\uFEFF]*02,[^,\r\n]{0,80},[^,\r\n]{0,80},\s*[1-4]?\s*,\s*\d{6}(?:\d{2})?\s*,/;

/** True if the first 4 KiB of a text are BAI2. The file header may be missing. */
export function looksLikeBai2(start: string): boolean {
  return FILE_HEADER.test(start) || GROUP_HEADER.test(start);
}
