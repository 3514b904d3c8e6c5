import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, type Uploader } from './upload.ts';

const REQUEST_TIMEOUT = 20_000;

/** How many of the newest statements of an account are searched for the one of an import. */
const SEARCHED = 50;

/**
 * Asks for a withdrawal until it is accepted. Until an import is done, it is refused with 409.
 * @param path such as `imports/12`.
 * @returns the id of the withdrawal; null: it was refused for good.
 */
export async function withdraw(uploader: Uploader, path: string): Promise<string | null> {
  const answer = await ask(uploader, 'POST', `/v1/${path}/withdraw`, { reason: 'fault run' });
  if (answer === null) return null;
  const { id } = answer.withdrawal as { id: number };
  uploader.record.withdrawals.set(String(id), path);
  return String(id);
}

/** Waits until a withdrawal has ended. How it has ended is read from the tables later. */
export const waitUntilWithdrawn = (uploader: Uploader, id: string | null): Promise<void> =>
  id === null ? Promise.resolve() : waitUntilEnded(uploader, `/v1/withdrawals/${id}`);

/** Withdraws an import as a whole, or only its statement. Waits until this is done in half of the cases. */
export const withdrawStatements =
  (uploader: Uploader, accountId: string) =>
  async (importId: string): Promise<void> => {
    const { dice } = uploader;
    const isWhole = dice.whole(0, 1) === 0;
    const statementId = isWhole ? null : await findStatement(uploader, accountId, importId);
    const path = statementId === null ? `imports/${importId}` : `statements/${statementId}`;
    const id = await withdraw(uploader, path);
    if (dice.whole(0, 1) === 0) await waitUntilWithdrawn(uploader, id);
  };

/** @returns null when the import has no statement, because an earlier one has brought the same. */
async function findStatement(
  uploader: Uploader,
  accountId: string,
  importId: string,
): Promise<string | null> {
  await waitUntilEnded(uploader, `/v1/imports/${importId}`);
  const path = `/v1/accounts/${accountId}/statements?per_page=${SEARCHED}`;
  const answer = await ask(uploader, 'GET', path);
  const statements = (answer?.statements ?? []) as { id: number; import_id: number }[];
  const found = statements.find((it) => String(it.import_id) === importId);
  return found === undefined ? null : String(found.id);
}

/** @param path of an import or a withdrawal. */
async function waitUntilEnded(uploader: Uploader, path: string): Promise<void> {
  for (;;) {
    const answer = await ask(uploader, 'GET', path);
    const { status } = (answer?.import ?? answer?.withdrawal ?? {}) as { status?: string };
    if (status === undefined || status === 'done' || status === 'failed') return;
    await sleep(200);
  }
}

/**
 * Sends a request until it succeeds.
 * @returns its answer; null: it was refused for good, which is then recorded.
 */
async function ask(
  { target, apiKey, record, dice }: Uploader,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<Record<string, unknown> | null> {
  for (;;) {
    record.requests += 1;
    let refusal: string;
    try {
      const response = await fetch(target.url + path, {
        method,
        headers: { Authentication: apiKey, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT),
      });
      const answer = (await response.json()) as Record<string, unknown>;
      if (response.ok) return answer;
      refusal = String(response.status);
    } catch (error) {
      refusal = codeOf(error);
    }
    record.refusals.set(refusal, (record.refusals.get(refusal) ?? 0) + 1);
    if (/^4/.test(refusal) && refusal !== '409' && refusal !== '429') {
      record.wrong.push(`${refusal} for ${method} ${path}`);
      return null;
    }
    await sleep(200 + 300 * dice.next());
  }
}
