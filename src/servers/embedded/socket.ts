import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** The kernel's limit is 107 bytes on Linux and 103 on macOS (sun_path in unix(7), with its closing zero). */
const LONGEST_PATH = 100;
const TEMPORARY = 'ledgerbell-socket-';

/** DATA_DIR/<name>.sock or, if that is too long for a socket, a path in a new private directory (0700). */
export function chooseSocket(dataDir: string, name: string): string {
  const usual = join(dataDir, `${name}.sock`);
  return Buffer.byteLength(usual) <= LONGEST_PATH
    ? usual
    : join(mkdtempSync(join(tmpdir(), TEMPORARY)), `${name}.sock`);
}

/** Removes a socket on which no server listens any more, so that the next server can use its path. */
export function removeSocket(socket: string): void {
  rmSync(socket, { force: true });
  // MySQL 8 writes its pid here.
  rmSync(`${socket}.lock`, { force: true });
}

/** Removes a socket and the private directory that was created for it. */
export function discardSocket(socket: string): void {
  removeSocket(socket);
  if (basename(dirname(socket)).startsWith(TEMPORARY)) {
    rmSync(dirname(socket), { recursive: true, force: true });
  }
}
