import { parseArgs } from 'node:util';
import { parseRoles } from './platform/roles.ts';
import { runProcess } from './service.ts';

try {
  const { values } = parseArgs({ options: { roles: { type: 'string' } } });
  await runProcess(values.roles === undefined ? undefined : parseRoles(values.roles));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
