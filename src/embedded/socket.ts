import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** The kernel's limit is 107 bytes on Linux and 103 on macOS (sun_path in unix(7), with its closing zero). */
const LONGEST_PATH = 100;
const TEMPORARY = 'ledgerbell-socket-';

/** DATA_DIR/<name>.sock, or, where that is too long for a socket, one in a private directory (0700) of its own. */
export function chooseSocket(dataDir: string, name: string): string {
  const usual = join(dataDir, `${name}.sock`);
  return Buffer.byteLength(usual) <= LONGEST_PATH
    ? usual
    : join(mkdtempSync(join(tmpdir(), TEMPORARY)), `${name}.sock`);
}

/** Removes a socket that no server listens on any more, so that it does not stand in the next one's way. */
export function removeSocket(socket: string): void {
  rmSync(socket, { force: true });
  // MySQL 8 writes its pid here.
  rmSync(`${socket}.lock`, { force: true });
}

/** The same, for good: with the directory that was made for it. */
export function discardSocket(socket: string): void {
  removeSocket(socket);
  if (basename(dirname(socket)).startsWith(TEMPORARY)) {
    rmSync(dirname(socket), { recursive: true, force: true });
  }
}
