import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { reasonOf, runCli, spawnCli } from './command.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const apiSecret = 's3cr3t-ğ';

const fields = {
  dc: 'Credit',
  code: 'FAST',
  amount: '11747.59',
  balance: '997068.34',
  currency: 'TRY',
  description: 'Doğum günü\nhediyesi',
  account_id: '1',
  account: 'Ana Hesap',
  bank: 'Garanti BBVA',
  opponent_id: '',
  opponent_iban: '',
};
const digits = createHash('sha256')
  .update(`CreditFAST11747.59997068.34TRYDoğum günü\nhediyesi${apiSecret}`)
  .digest('hex');
const body = JSON.stringify({ ...fields, hash: btoa(digits) });

/** Headers that a batch does not have. */
const OF_MOVEMENT = { 'ledgerbell-transaction-id': '17', 'ledgerbell-date-issue': '2025-10-01' };

/** `ledgerbell listen` as a process of its own, ready to be posted to. */
async function listen(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawnCli(['listen', '--port', '0', ...args], env);
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  if (child.stdout === null || child.stderr === null) throw new Error('the command has no output to read');
  const notes = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
  const output = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const url = /http:\S+/.exec((await notes.next()).value ?? '')?.[0] ?? '';
  return {
    child,
    ended,
    nextLine: async (): Promise<string> => (await output.next()).value ?? '',
    /** Signed with the npm package standardwebhooks. @returns the status of the answer. */
    async send(sent: string, { signedAs = sent, path = 'hook' } = {}): Promise<number> {
      const now = new Date();
      const headers = {
        'content-type': 'application/json',
        'webhook-id': 'msg_17',
        'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
        'webhook-signature': new Webhook(secret).sign('msg_17', now, signedAs),
        ...(sent.startsWith('{"batch"') ? {} : OF_MOVEMENT),
      };
      return (await fetch(url + path, { method: 'POST', headers, body: sent })).status;
    },
  };
}

describe('ledgerbell listen', () => {
  it('prints operational events, which have no hash', async () => {
    const receiver = await listen(['--secret', secret, '--api-secret', apiSecret]);
    const event = {
      type: 'webhook.disabled',
      timestamp: '2026-11-22T10:31:04.120482Z',
      data: { customer_id: 1, webhook: { id: 17 }, reason: 'The endpoint answered 410 Gone.' },
    };
    expect(await receiver.send(JSON.stringify(event))).toBe(204);
    expect(await receiver.nextLine()).toBe(
      `✔ msg_17  webhook.disabled  ${JSON.stringify(event.data)}  (signature verified)`,
    );
    expect(await receiver.send(JSON.stringify(event), { signedAs: 'another' })).toBe(401);
  });

  it('prints a line, or a document, for each event of a batch', async () => {
    const { hash, ...changed } = JSON.parse(body.replace('11747', '21747'));
    const batchOf = (second: object) =>
      JSON.stringify({
        batch: 'msg_17',
        events: [
          { id: 'msg_3-7', body: JSON.parse(body) },
          { id: 'msg_3-8', body: second },
        ],
      });
    const secrets = ['--secret', secret, '--api-secret', apiSecret];
    const person = await listen(secrets);
    expect(await person.send(batchOf(JSON.parse(body)))).toBe(204);
    for (const id of ['msg_3-7', 'msg_3-8'])
      expect(await person.nextLine()).toBe(
        `✔ ${id}  Credit 11747.59 TRY  Garanti BBVA, Ana Hesap  FAST Doğum günü hediyesi  (signature and hash verified, in msg_17)`,
      );
    const program = await listen([...secrets, '--json']);
    expect(await program.send(batchOf({ ...changed, hash }))).toBe(401);
    const documents = [JSON.parse(await program.nextLine()), JSON.parse(await program.nextLine())];
    expect(documents).toMatchObject([
      { id: 'msg_3-7', batch: 'msg_17', verified: true, hash: 'verified' },
      { id: 'msg_3-8', batch: 'msg_17', verified: false, hash: 'wrong' },
    ]);
    const withdrawal = {
      batch: 'msg_17',
      events: [{ id: 'msg_3-7-withdrawn', event: 'WITHDRAWN_TRANSACTION', body: JSON.parse(body) }],
    };
    expect(await program.send(JSON.stringify(withdrawal))).toBe(204);
    expect(JSON.parse(await program.nextLine())).toMatchObject({
      id: 'msg_3-7-withdrawn',
      hash: 'verified',
      transaction_id: '7',
    });
    expect(await program.send(batchOf({}), { signedAs: body })).toBe(401);
    expect(JSON.parse(await program.nextLine())).toMatchObject({
      id: 'msg_17',
      batch: null,
      verified: false,
    });
  });

  it('prints one JSON document per notification, and exits with 0 when it is stopped', async () => {
    const { child, ended, send, nextLine } = await listen([
      '--secret',
      secret,
      '--api-secret',
      apiSecret,
      '--json',
    ]);
    expect(await send(body)).toBe(204);
    expect(JSON.parse(await nextLine())).toEqual({
      id: 'msg_17',
      batch: null,
      verified: true,
      problem: null,
      hash: 'verified',
      path: '/hook',
      test: false,
      transaction_id: '17',
      date_issue: '2025-10-01',
      body: { ...fields, hash: btoa(digits) },
    });

    expect(await send(body.replace('11747', '21747'), { signedAs: body })).toBe(401);
    expect(JSON.parse(await nextLine())).toMatchObject({
      verified: false,
      problem: expect.stringContaining('No signature matches'),
      hash: 'not checked',
    });

    expect(await send(body.replace('11747', '21747'))).toBe(401);
    expect(JSON.parse(await nextLine())).toMatchObject({ verified: false, hash: 'wrong' });

    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    expect(await nextLine()).toBe('');
  });

  it('prints one line for a person, with spaces in place of what breaks a line in the description', async () => {
    const { send, nextLine } = await listen(['--secret', secret]);
    expect(await send(body)).toBe(204);
    expect(await nextLine()).toBe(
      '✔ msg_17  Credit 11747.59 TRY  Garanti BBVA, Ana Hesap  FAST Doğum günü hediyesi  (signature verified)',
    );
    expect(await send(body, { signedAs: '{}' })).toBe(401);
    expect(await nextLine()).toBe(
      '✘ msg_17  No signature matches: the secret is another, or the body was changed.',
    );
  });

  it('takes its secrets from the environment, and says which one is missing or wrong', async () => {
    const run = (env: Record<string, string>) => runCli(['listen'], env);
    expect(reasonOf(await run({}))).toBe(
      'error: The webhook’s secret is missing: give --secret, or LEDGERBELL_WEBHOOK_SECRET.',
    );
    expect(reasonOf(await run({ LEDGERBELL_WEBHOOK_SECRET: 'tellnobody' }))).toBe(
      'error: LEDGERBELL_WEBHOOK_SECRET must be "whsec_" followed by base64, as it was shown.',
    );
    const env = { LEDGERBELL_WEBHOOK_SECRET: secret, LEDGERBELL_API_SECRET: apiSecret };
    const { send, nextLine } = await listen(['--json'], env);
    expect(await send(body)).toBe(204);
    expect(JSON.parse(await nextLine())).toMatchObject({ verified: true, hash: 'verified' });
  });

  it('says that its port is taken', async () => {
    const server = (await import('node:http')).createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    expect(reasonOf(await runCli(['listen', '--port', port, '--secret', secret]))).toBe(
      `error: Port ${port} of 127.0.0.1 is taken by another program: choose another one.`,
    );
  });
});
