/** The roles of a process. */
export const ROLES = ['api', 'importer', 'delivery', 'maintenance'] as const;
export type RoleName = (typeof ROLES)[number];
