import { fileURLToPath, pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { register } from 'tsx/esm/api';

/**
 * A thread that imports the sources `paths` of the folder `root`, and posts each RegExp that they make with the constructor. Literals do
 * not call it.
 */
const { root, paths } = workerData;
const built = [];

function callerOf({ stack }) {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const frame = frames.find((line) => !line.includes(import.meta.filename)) ?? '';
  const [, file, line] = /((?:file:\/\/)?\/[^()]*):(\d+):\d+\)?$/.exec(frame) ?? [];
  if (file === undefined) return null;
  const path = file.startsWith('file:') ? fileURLToPath(file) : file;
  return { file: path.slice(root.length + 1), line: Number(line) };
}

function note(pattern) {
  const caller = callerOf(new Error('Where the constructor is called'));
  if (paths.includes(caller?.file)) built.push({ ...caller, source: pattern.source, flags: pattern.flags });
  return pattern;
}

// Stacks then have the lines of the sources.
process.setSourceMapsEnabled(true);
globalThis.RegExp = new Proxy(RegExp, {
  construct: (Original, [source, flags]) => note(new Original(source, flags)),
  apply: (Original, _, [source, flags]) => note(new Original(source, flags)),
});
register();

const load = (path) => import(pathToFileURL(`${root}/${path}`).href);
for (const path of paths) await load(path);

// These functions call the constructor when they are called.
const values = await load('packages/statements/src/profiles/values.ts');
const decimals = await load('packages/statements/src/profiles/decimals.ts');
for (const decimalSign of [',', '.']) {
  decimals.createDecimals(decimalSign);
  values.createAmountReader({ decimalSign, currencyTexts: [] });
  values.createThousandsTest({ decimalSign });
}
values.createDateReader(values.DATE_FORMATS);
const ofx = await load('packages/statements/src/ofx/parse.ts');
ofx.encodingOf('OFXHEADER:100 ENCODING:USASCII CHARSET:1252 <');

parentPort.postMessage(built);
