import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ReceiverMode } from './receiver-modes.ts';
import type { ReceiverSpec, ToReceivers } from './receivers.process.ts';

/** The process of the receivers, as a run sees it. */
export interface Receivers {
  /** Resolves when the receivers have changed. */
  change(webhookIds: string[], mode: ReceiverMode | 'normal'): Promise<void>;
  /** Sends SIGKILL, and after `seconds` starts a new process on the same ports, whose receivers answer normally. */
  kill(seconds: number): Promise<void>;
  end(): Promise<void>;
}

const SECOND = 1_000;

/** @param file what they write each POST to; see receipts.ts. */
export async function startReceivers(file: string, specs: ReceiverSpec[]): Promise<Receivers> {
  let child = await launch();

  async function launch(): Promise<ChildProcess> {
    const launched = fork(fileURLToPath(new URL('./receivers.process.ts', import.meta.url)), {
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    await tell(launched, { file, receivers: specs });
    return launched;
  }
  async function end(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }
  return {
    change: (webhookIds, mode) => tell(child, { webhookIds, mode }),
    async kill(seconds) {
      await end();
      await new Promise((resolve) => setTimeout(resolve, seconds * SECOND));
      child = await launch();
    },
    end,
  };
}

async function tell(child: ChildProcess, message: ToReceivers): Promise<void> {
  if (!child.connected) return; // It was killed. The receivers of the next process answer normally anyway.
  const changed = new AbortController();
  const { signal } = changed;
  const done = Promise.race([once(child, 'message', { signal }), once(child, 'exit', { signal })]);
  child.send(message);
  await done;
  changed.abort();
}
