import { parentPort, workerData } from 'node:worker_threads';
import { checkSync } from 'recheck';
import { analyse } from 'scslre';

/**
 * A thread that posts, for each of `patterns`, what is slow about it, or null. It needs seconds of a processor, and the same steps on each
 * machine: no limit is a time.
 */
const LIMITS = {
  timeout: null,
  incubationTimeout: null,
  attackTimeout: null,
  seedingTimeout: null,
  randomSeed: 1,
  // The texts that it finds are not tried out.
  recallTimeout: -1,
  maxNFASize: 1_000,
  incubationLimit: 25_000,
  maxIteration: 1,
  maxInitialGenerationSize: 50,
  maxGenerationSize: 10,
  mutationSize: 5,
  crossoverSize: 5,
};

/** Looks for all texts, also those that repeat several characters. Where the pattern is too large for that, it tries texts at random. */
function recheck({ source, flags }) {
  const { status, complexity, attack, error } = checkSync(source, flags, LIMITS);
  if (status === 'safe') return null;
  if (status === 'unknown') return { kind: `unknown (${error.kind})`, attack: '' };
  const kind =
    complexity.type === 'polynomial' ? `polynomial of degree ${complexity.degree}` : complexity.type;
  return { kind, attack: attack.pattern };
}

/** Looks only for texts that repeat one character, but knows lookarounds. */
function scslre({ source, flags }) {
  const { reports } = analyse({ source, flags });
  const [worst] = reports.toSorted((one, other) => Number(other.exponential) - Number(one.exponential));
  if (worst === undefined) return null;
  const types = [...new Set(reports.map(({ type }) => type))];
  return {
    kind: worst.exponential ? 'exponential' : 'polynomial',
    attack: `${JSON.stringify(worst.character.pick)} repeated`,
    restarts: types.every((type) => type === 'Move'),
  };
}

/** Without a quantifier, a pattern reads no more than a few characters from any position. */
const isShort = ({ source }) => !/[*+{]/.test(source);

parentPort.postMessage(
  workerData.patterns.map((pattern) => {
    if (isShort(pattern)) return null;
    const repeated = scslre(pattern);
    const found = recheck(pattern) ?? repeated;
    return found === null ? null : { ...found, restarts: repeated?.restarts ?? false };
  }),
);
