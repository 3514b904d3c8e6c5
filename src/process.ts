import { once } from 'node:events';
import { ConfigError, readConfig } from './config.ts';
import { createLog } from './log.ts';
import { type RoleName, type Service, startService } from './service.ts';

const SECOND = 1_000;

/** A supervisor kills what has not ended by then; what was in hand is then taken over like after any crash. */
const SHUTDOWN_LIMIT = 10 * SECOND;

/**
 * Runs roles as this process until SIGTERM or SIGINT, which also end a start that is under way. Everything is then shut down
 * within 10 s; embedded servers that take longer are killed. A start or a shutdown that fails ends the process with code 1,
 * and says why on stderr.
 */
export async function runProcess(roles: readonly RoleName[]): Promise<never> {
  const announce = (line: string) => process.stderr.write(`${line}\n`);
  const ending = new AbortController();
  const { signal } = ending;
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (signal.aborted) return;
      announce(`${name}: finishing what is in hand …`);
      setTimeout(() => process.exit(1), SHUTDOWN_LIMIT);
      ending.abort();
    });
  }

  try {
    const service = await start(roles, announce, signal);
    if (!signal.aborted) await once(signal, 'abort');
    await service.stop();
  } catch (error) {
    if (error !== signal.reason) {
      announce(explain(error, signal.aborted ? 'cannot be shut down cleanly' : 'cannot start'));
      process.exit(1);
    }
  }
  process.exit(0);
}

async function start(
  roles: readonly RoleName[],
  announce: (line: string) => void,
  signal: AbortSignal,
): Promise<Service> {
  const config = readConfig();
  const service = await startService({ config, roles, log: createLog(config.logLevel), announce, signal });
  process.stdout.write(`${describe(roles, service.url).join('\n')}\n`);
  return service;
}

function explain(error: unknown, what: string): string {
  if (error instanceof ConfigError) return error.message;
  return `Ledgerbell ${what}: ${error instanceof Error ? error.message : String(error)}`;
}

/** What has started and where it answers, for a person. */
function describe(roles: readonly RoleName[], url: string): string[] {
  const running = `Ledgerbell is running: ${roles.join(', ')}`;
  if (url === '') return [running];
  return [running, `  API      ${url}/v1`, `  Docs     ${url}/docs`, `  Console  ${url}/ops`];
}
