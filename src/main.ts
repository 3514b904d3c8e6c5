import { parseArgs } from 'node:util';
import { ROLES, type RoleName } from './platform/roles.ts';
import { runProcess } from './service.ts';

const isRole = (name: string): name is RoleName => (ROLES as readonly string[]).includes(name);

/** Reads `--roles api,importer`. Without it the process has all roles. */
function readRoles(): readonly RoleName[] | undefined {
  const { values } = parseArgs({ options: { roles: { type: 'string' } } });
  if (values.roles === undefined) return undefined;
  const names = values.roles.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !isRole(name));
  if (wrong !== undefined)
    throw new Error(`--roles takes ${ROLES.join(', ')}, separated by commas; "${wrong}" is none.`);
  return names.filter(isRole);
}

try {
  await runProcess(readRoles());
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
