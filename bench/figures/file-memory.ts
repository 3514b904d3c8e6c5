import { Readable } from 'node:stream';
import { request } from 'undici';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import type { Installation } from '../installation.ts';
import { untilDone } from '../load.ts';
import { emptyTables } from '../movement-tables.ts';
import { ibanIn, renderFile, TEXT_FORMATS, type TextFormat } from '../statement-files.ts';
import { forgetPeak, memoryOf } from '../usage.ts';

const ROLES = ['api 1', 'importer'];
const PER_DAY = 1_000;
const MB = 1_000_000;

/** Megabytes of the files with --large. */
const LARGE: Record<TextFormat, number> = {
  mt940: 1_000,
  camt: 1_000,
  csv: 1_000,
  ofx: 200,
  bai2: 200,
  coda: 200,
  cfonb120: 200,
  norma43: 200,
};

/**
 * Peak resident memory of the API and the importer while one statement file of each format is received and stored. The client
 * generates the file while it is sent, and never holds all of it.
 */
export const fileMemory: Figure = {
  about:
    'peak memory of the API and the importer while a statement file of 100 MB goes in, of 1 GB with --large',
  rounds: 1,
  async prepare(scale: Scale, start) {
    const installation = await start();
    return {
      server: installation.server,
      async round() {
        const measured: Measured[] = [];
        for (const format of TEXT_FORMATS) {
          const megabytes = sized(scale, { smoke: 1, normal: 100, large: LARGE[format] });
          measured.push(...(await importFile(installation, format, megabytes)));
        }
        return measured;
      },
      end: () => installation.end(),
    };
  },
};

async function importFile(
  installation: Installation,
  format: TextFormat,
  megabytes: number,
): Promise<Measured[]> {
  const { customer, pids, runtime, url } = installation;
  const { api_key: key, accountId } = await customer();
  await runtime.database.query('UPDATE accounts SET iban = ? WHERE id = ?', [ibanIn(format), accountId]);
  const entries = Math.floor((megabytes * MB) / bytesPerEntry(format));
  for (const role of ROLES) await forgetPeak(pids[role] ?? 0);

  const started = performance.now();
  const answer = await request(`${url}/v1/imports`, {
    method: 'POST',
    headers: { Authentication: key, 'content-type': 'application/octet-stream' },
    body: Readable.from(renderFile(format, { entries, perDay: PER_DAY })),
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const body = (await answer.body.json()) as { import: { id: number } };
  if (answer.statusCode !== 202) throw new Error(`the file was refused: ${JSON.stringify(body)}`);
  await untilDone(installation, key, String(body.import.id), entries);
  const minutes = (performance.now() - started) / 60_000;
  const name = `${megabytes.toLocaleString('en')} MB of ${format}, ${entries.toLocaleString('en')} movements`;
  console.error(`  ${name}: ${minutes.toFixed(1)} minutes`);
  const peaks = await Promise.all(
    ROLES.map(async (role) => ({
      name: `peak of ${role}, ${name}`,
      unit: 'MB resident',
      value: (await memoryOf(pids[role] ?? 0)).peak,
      wanted: { atMost: 300 },
    })),
  );
  await emptyTables(runtime.database);
  return peaks;
}

/** Of a file with many of them. */
function bytesPerEntry(format: TextFormat): number {
  const text = [...renderFile(format, { entries: PER_DAY, perDay: PER_DAY })].join('');
  return Buffer.byteLength(text) / PER_DAY;
}
