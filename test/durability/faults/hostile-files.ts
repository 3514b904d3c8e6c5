import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Installation } from '../service.ts';

const MIB = 1024 * 1024;

/** Files that make a careless parser slow or large. None of them holds an entry. */
const FILES: readonly { format: string; body: () => Buffer }[] = [
  {
    format: 'camt',
    body: () =>
      Buffer.from(
        `<Document><BkToCstmrStmt><Stmt><Ntry><NtryDtls><TxDtls><RmtInf><Ustrd>${'x'.repeat(60 * MIB)}`,
      ),
  },
  { format: 'camt', body: () => Buffer.from(`<Document>${'<a>'.repeat(MIB)}`) },
  { format: 'bai2', body: () => Buffer.from(`16,495,1,,,,TEXT${'/ '.repeat(4 * MIB)}`) },
  { format: 'mt940', body: () => Buffer.from(`:20:A\n:61:2601010101D1,NMSC${'9'.repeat(20 * MIB)}`) },
  { format: 'coda', body: () => Buffer.from(`0000002032639905 \n2100010000${'9'.repeat(20 * MIB)}`) },
  {
    format: 'cfonb120',
    body: () => Buffer.from(`0430004    00805EUR2 00012345678  020326LIB${'9'.repeat(20 * MIB)}`),
  },
  { format: 'norma43', body: () => Buffer.from(`22    0007260302260302020012${'0'.repeat(20 * MIB)}`) },
  { format: 'csv', body: () => Buffer.from(`"${';'.repeat(20 * MIB)}`) },
  // 300 MiB of nothing in 300 KiB.
  { format: 'auto', body: () => gzipSync(Buffer.alloc(300 * MIB, ' ')) },
];

/** Imports of a customer are stored one after the other, so those of a hostile one hold up its own later ones. */
const STORED = 3;

/** For this many seconds, sends hostile files: a few as imports of the first customer, and the others as dry runs. */
export async function sendHostileFiles(
  { url, customers }: Pick<Installation, 'url' | 'customers'>,
  seconds: number,
): Promise<string> {
  const [customer] = customers;
  if (customer === undefined) return 'there is no customer';
  const end = performance.now() + seconds * 1_000;
  const statuses = new Map<string, number>();
  let sent = 0;
  while (performance.now() < end) {
    const file = FILES[sent % FILES.length];
    if (file === undefined) break;
    const dryRun = sent >= STORED;
    sent += 1;
    const query = `format=${file.format}&account_id=${customer.uploadAccount.id}&dry_run=${dryRun}`;
    const status = await fetch(`${url}/v1/imports?${query}`, {
      method: 'POST',
      headers: { Authentication: customer.apiKey, 'content-type': 'application/octet-stream' },
      body: new Uint8Array(file.body()),
      signal: AbortSignal.timeout(40_000),
    }).then(
      (answer) => String(answer.status),
      () => 'no answer',
    );
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    await sleep(50);
  }
  return `${sent} files: ${[...statuses].map(([status, count]) => `${status} × ${count}`).join(', ')}`;
}
