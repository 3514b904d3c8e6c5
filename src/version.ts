/** As in package.json, which a compiled file cannot import without a warning on Node 20; a test compares the two. */
export const VERSION = '0.1.0';
