import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, type Uploader } from './upload.ts';

const REQUEST_TIMEOUT = 20_000;

/** How many of the newest statements of an account are searched for the one of an import. */
const SEARCHED = 50;

interface Answer {
  /** The status, or the code of the error if there was no answer. */
  status: string;
  body: Record<string, unknown>;
}

/**
 * Asks for a withdrawal until it is accepted. An import that is not done yet is refused with 409.
 * @param path such as `imports/12`.
 * @returns the id of the withdrawal; null: it was refused for good, which is then recorded.
 */
export async function withdraw(uploader: Uploader, path: string): Promise<string | null> {
  const { record } = uploader;
  const { status, body } = await askUntil(uploader, ['202', '404'], 'POST', `/v1/${path}/withdraw`, {
    reason: 'fault run',
  });
  if (status !== '202') {
    record.wrong.push(`${status} for the withdrawal of ${path}`);
    return null;
  }
  const { id } = body.withdrawal as { id: number };
  record.withdrawals.set(String(id), path);
  return String(id);
}

/** Waits until a withdrawal has ended. How it has ended is read from the tables later. */
export async function waitUntilWithdrawn(uploader: Uploader, id: string | null): Promise<void> {
  for (let status = 'queued'; id !== null && ['queued', 'running'].includes(status); ) {
    const { body } = await askUntil(uploader, ['200'], 'GET', `/v1/withdrawals/${id}`);
    ({ status } = body.withdrawal as { status: string });
    await sleep(200);
  }
}

/** Withdraws an import as a whole, or only its statement. Now and then waits until this is done. */
export const withdrawStatements =
  (uploader: Uploader, accountId: string) =>
  async (importId: string): Promise<void> => {
    const { dice } = uploader;
    const statement = dice.whole(0, 1) === 0 ? null : await findStatement(uploader, accountId, importId);
    const id = await withdraw(
      uploader,
      statement === null ? `imports/${importId}` : `statements/${statement}`,
    );
    if (dice.whole(0, 1) === 0) await waitUntilWithdrawn(uploader, id);
  };

/** @returns null when the import has none, because it was known from another one. */
async function findStatement(
  uploader: Uploader,
  accountId: string,
  importId: string,
): Promise<string | null> {
  for (let status = 'queued'; ['queued', 'running', 'receiving'].includes(status); ) {
    const { body } = await askUntil(uploader, ['200'], 'GET', `/v1/imports/${importId}`);
    ({ status } = body.import as { status: string });
    await sleep(200);
  }
  const path = `/v1/accounts/${accountId}/statements?per_page=${SEARCHED}`;
  const { body } = await askUntil(uploader, ['200'], 'GET', path);
  const statements = body.statements as { id: number; import_id: number }[];
  const found = statements.find((it) => String(it.import_id) === importId);
  return found === undefined ? null : String(found.id);
}

/** Sends a request until it gets one of these answers. Everything that is not 5xx, 409 or 429 is recorded as wrong, and ends it too. */
async function askUntil(
  uploader: Uploader,
  wanted: readonly string[],
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<Answer> {
  const { record, dice } = uploader;
  for (;;) {
    record.requests += 1;
    const answer = await ask(uploader, method, path, body);
    if (wanted.includes(answer.status)) return answer;
    record.refusals.set(answer.status, (record.refusals.get(answer.status) ?? 0) + 1);
    if (/^4/.test(answer.status) && answer.status !== '409' && answer.status !== '429')
      throw new Error(`${answer.status} for ${method} ${path}: ${JSON.stringify(answer.body)}`);
    await sleep(200 + 300 * dice.next());
  }
}

async function ask(
  { target, apiKey }: Uploader,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  try {
    const response = await fetch(target.url + path, {
      method,
      headers: { Authentication: apiKey, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT),
    });
    return { status: String(response.status), body: (await response.json()) as Answer['body'] };
  } catch (error) {
    return { status: codeOf(error), body: {} };
  }
}
