/** A copy of the version in package.json, which a compiled file cannot import on Node 20 without a warning. */
export const VERSION = '1.0.0';
