/** An XLSX file that cannot be read, or not any further. The message is for its sender, and has no capital and no full stop. */
export class XlsxError extends Error {
  override name = 'XlsxError';
}
