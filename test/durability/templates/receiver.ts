import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Mode, ToReceiver } from './receiver.process.ts';

/** The process of the receiver, as a run sees it. */
export interface Receiver {
  port: number;
  /** From now on, it knows this secret too. */
  addSecret(secret: string): Promise<void>;
  addApiSecret(customerId: string, apiSecret: string): void;
  change(mode: Mode): Promise<void>;
  /** Sends SIGKILL, and starts it again on the same port. */
  kill(): Promise<void>;
  end(): Promise<void>;
}

/** @param file what it writes each POST to; see receipts.ts. */
export async function startReceiver(file: string, port: number): Promise<Receiver> {
  const secrets: string[] = [];
  const apiSecrets: [string, string][] = [];
  let mode: Mode = 'normal';
  let child = await launch();

  async function launch(): Promise<ChildProcess> {
    const launched = fork(fileURLToPath(new URL('./receiver.process.ts', import.meta.url)), {
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    await tell(launched, { secrets });
    launched.send({ apiSecrets } satisfies ToReceiver);
    await tell(launched, { mode });
    await tell(launched, { file, port });
    return launched;
  }
  async function end(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }
  return {
    port,
    async addSecret(secret) {
      secrets.push(secret);
      await tell(child, { secrets });
    },
    addApiSecret(...pair) {
      apiSecrets.push(pair);
      if (child.connected) child.send({ apiSecrets: [pair] } satisfies ToReceiver);
    },
    async change(to) {
      mode = to;
      await tell(child, { mode });
    },
    async kill() {
      await end();
      child = await launch();
    },
    end,
  };
}

/** Messages are answered in their order. A process that was killed does not answer; the next one is told all again. */
async function tell(child: ChildProcess, message: ToReceiver): Promise<void> {
  if (!child.connected) return;
  const over = new AbortController();
  const { signal } = over;
  const done = Promise.race([once(child, 'message', { signal }), once(child, 'exit', { signal })]);
  child.send(message);
  await done;
  over.abort();
}
