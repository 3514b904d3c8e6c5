/**
 * Whether bytes begin an XLSX file: a zip whose first part is one of those that such files have.
 * @param start the first 64 bytes or more.
 */
export function looksLikeXlsx(start: Uint8Array): boolean {
  const isZip = start[0] === 0x50 && start[1] === 0x4b && start[2] === 3 && start[3] === 4;
  const name = Buffer.from(start.subarray(30, 60)).toString('latin1');
  return isZip && /^(\[Content_Types\]\.xml|_rels\/|docProps\/|xl\/)/.test(name);
}
