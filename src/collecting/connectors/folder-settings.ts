import * as v from 'valibot';
import { documented, maxCharacters } from '../../validation.ts';

/** Folders that a folder source makes below its own. */
export const FOLDERS = { processing: 'processing', done: 'done', failed: 'failed' } as const;

const NAME = '[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}';

const PATH_RULE =
  'must be a folder such as "inbox" or "garanti/inbox": names of letters (a to z), digits, "_", "-" and ".", which does not come first';

export const FolderSettings = v.strictObject({
  path: v.pipe(
    v.string(PATH_RULE),
    ...maxCharacters(500),
    v.regex(new RegExp(`^${NAME}(?:/${NAME})*$`), PATH_RULE),
    v.check(
      (path) => !path.split('/').some((name) => Object.hasOwn(FOLDERS, name.toLowerCase())),
      `must not contain a folder named ${Object.keys(FOLDERS).join(', ')}: a source keeps its own files there`,
    ),
    documented({ examples: ['inbox'] }),
  ),
});

export type FolderSettings = v.InferOutput<typeof FolderSettings>;

export const FolderCredentials = v.optional(v.null('must be left out: a folder needs none'), null);
