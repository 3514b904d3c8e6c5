import * as v from 'valibot';
import { documented } from '../../validation.ts';
import {
  After,
  HttpUrl,
  hasMeaning,
  MOVE_RULE,
  NamePattern,
  plainText,
  secretText,
} from './setting-schemas.ts';

const BUCKET_RULE = 'must be the name of a bucket: 3 to 63 lower-case letters, digits, points and hyphens';
const REGION_RULE = 'must be a region, such as "eu-central-1"';
const FOLDER_RULE = 'must be a prefix that ends with "/", and another one than "prefix"';

/** Settings of a source of kind `s3`. Everybody who may read the source sees them. */
export const S3Settings = v.pipe(
  v.strictObject({
    /** Of a service other than AWS. */
    endpoint: v.optional(HttpUrl),
    region: v.optional(v.pipe(v.string(REGION_RULE), v.regex(/^[a-z0-9-]{1,50}$/, REGION_RULE)), 'us-east-1'),
    bucket: v.pipe(
      v.string(BUCKET_RULE),
      v.regex(/^[a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9]$/, BUCKET_RULE),
      documented({ examples: ['bank-statements'] }),
    ),
    prefix: v.optional(plainText(900)),
    pattern: v.optional(NamePattern, '*'),
    path_style: v.optional(v.boolean('must be true or false')),
    after: v.optional(After, 'leave'),
    done_prefix: v.optional(v.pipe(plainText(900), v.endsWith('/', FOLDER_RULE))),
    failed_prefix: v.optional(v.pipe(plainText(900), v.endsWith('/', FOLDER_RULE))),
  }),
  v.forward(
    v.check(({ after, done_prefix }) => hasMeaning(done_prefix, after), MOVE_RULE),
    ['done_prefix'],
  ),
  v.forward(
    v.check(({ after, failed_prefix }) => hasMeaning(failed_prefix, after), MOVE_RULE),
    ['failed_prefix'],
  ),
  v.forward(
    v.check(({ prefix, done_prefix }) => done_prefix === undefined || done_prefix !== prefix, FOLDER_RULE),
    ['done_prefix'],
  ),
  v.forward(
    v.check(
      ({ prefix, failed_prefix }) => failed_prefix === undefined || failed_prefix !== prefix,
      FOLDER_RULE,
    ),
    ['failed_prefix'],
  ),
);
export type S3Settings = v.InferOutput<typeof S3Settings>;

/** Credentials of a source of kind `s3`. */
export const S3Credentials = v.strictObject({
  access_key_id: secretText(255),
  secret_access_key: secretText(1_024),
});
export type S3Credentials = v.InferOutput<typeof S3Credentials>;

/** Where the service answers. AWS has an address per region. */
export const endpointOf = ({ endpoint, region }: S3Settings): URL =>
  new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);

/** Where files go with `after: "move"`. */
export const foldersOf = ({ prefix = '', done_prefix, failed_prefix }: S3Settings) => ({
  done: done_prefix ?? `${prefix}${prefix === '' || prefix.endsWith('/') ? '' : '-'}done/`,
  failed: failed_prefix ?? `${prefix}${prefix === '' || prefix.endsWith('/') ? '' : '-'}failed/`,
});
