/** The roles of a process. */
export const ROLES = ['api', 'importer', 'delivery', 'maintenance'] as const;
export type RoleName = (typeof ROLES)[number];

const isRole = (name: string): name is RoleName => (ROLES as readonly string[]).includes(name);

/** Parses `api,importer`. @throws {Error} that names the text that is not a role. */
export function parseRoles(text: string): RoleName[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !isRole(name));
  if (wrong !== undefined)
    throw new Error(`--roles takes ${ROLES.join(', ')}, separated by commas; "${wrong}" is not a role.`);
  return names.filter(isRole);
}
