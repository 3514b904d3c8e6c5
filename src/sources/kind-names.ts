/** The kinds of sources, by the name that is stored in `sources.kind`. */
export const KIND_NAMES = ['folder', 'sftp', 'http', 's3'] as const;
export type KindName = (typeof KIND_NAMES)[number];
