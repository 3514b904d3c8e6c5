import { parseArgs } from 'node:util';
import { parseRoles } from './platform/config.ts';
import { runProcess } from './run.ts';

try {
  const { values } = parseArgs({ options: { roles: { type: 'string' }, processes: { type: 'string' } } });
  const { roles, processes } = values;
  await runProcess({ roles: roles === undefined ? undefined : parseRoles(roles), processes });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
