import { cpus } from 'node:os';
import { findMysql, findRedis } from '../src/embedded/binaries.ts';
import { runCommand } from '../src/embedded/command.ts';

/** On what was measured: figures of two machines compare only as ratios. */
export interface Machine {
  cpu: { model: string; count: number };
  node: string;
  redis: string;
  mysql: string;
}

export async function describeMachine(): Promise<Machine> {
  const [redis, mysql] = await Promise.all([findRedis(), findMysql()]);
  const all = cpus();
  return {
    cpu: { model: all[0]?.model.trim() ?? 'unknown', count: all.length },
    node: process.versions.node,
    redis: await versionOf(redis, [], /v=(\S+)/),
    mysql: await versionOf(mysql?.server ?? null, ['--no-defaults'], /Ver (\S+)/),
  };
}

/** Where Docker runs the servers there is no program to ask. */
async function versionOf(program: string | null, args: string[], pattern: RegExp): Promise<string> {
  if (program === null) return 'in Docker';
  const { stdout } = await runCommand(program, [...args, '--version']);
  return pattern.exec(stdout)?.[1] ?? 'unknown';
}
