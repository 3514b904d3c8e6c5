import { cpus } from 'node:os';
import { runCommand } from '../src/servers/embedded/command.ts';
import { findRedis } from '../src/servers/embedded/provision.ts';

/** The machine and its programs. Only ratios can be compared between machines. Each Result names its database server. */
export interface Machine {
  cpu: { model: string; count: number };
  node: string;
  redis: string;
}

export async function describeMachine(): Promise<Machine> {
  const redis = await findRedis();
  const all = cpus();
  return {
    cpu: { model: all[0]?.model.trim() ?? 'unknown', count: all.length },
    node: process.versions.node,
    redis: await versionOf(redis),
  };
}

/** If Redis runs in Docker, there is no program to ask. */
async function versionOf(program: string | null): Promise<string> {
  if (program === null) return 'in Docker';
  const { stdout } = await runCommand(program, ['--version']);
  return /v=(\S+)/.exec(stdout)?.[1] ?? 'unknown';
}
