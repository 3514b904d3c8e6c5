import { ConfigError, readConfig } from './config.ts';
import { createLog } from './log.ts';
import { type RoleName, type Service, startService } from './service.ts';

const SECOND = 1_000;

/** A supervisor kills what has not ended by then; what was in hand is then taken over like after any crash. */
const SHUTDOWN_LIMIT = 10 * SECOND;

/**
 * Runs roles as this process until SIGTERM or SIGINT, then shuts down within 10 s. A start that fails ends the process with
 * code 1 and one line on stderr.
 */
export async function runProcess(roles: readonly RoleName[]): Promise<void> {
  const announce = (line: string) => process.stderr.write(`${line}\n`);
  let service: Service | undefined;
  let ending = false;
  const end = async (signal: NodeJS.Signals) => {
    if (ending) return;
    ending = true;
    announce(`${signal}: finishing what is in hand …`);
    setTimeout(() => process.exit(1), SHUTDOWN_LIMIT).unref();
    await service?.stop();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end(signal));

  try {
    const config = readConfig();
    const log = createLog(config.logLevel);
    service = await startService({ config, roles, log, announce });
    if (ending) return void (await service.stop());
    process.stdout.write(`${describe(roles, service.url).join('\n')}\n`);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    announce(error instanceof ConfigError ? message : `Ledgerbell cannot start: ${message}`);
    process.exit(1);
  }
}

/** What has started and where it answers, for a person. */
function describe(roles: readonly RoleName[], url: string): string[] {
  const running = `Ledgerbell is running: ${roles.join(', ')}`;
  if (url === '') return [running];
  return [running, `  API      ${url}/v1`, `  Docs     ${url}/docs`, `  Console  ${url}/ops`];
}
