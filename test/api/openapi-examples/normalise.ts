import { createHash } from 'node:crypto';

/**
 * Makes examples out of real requests and answers. What differs from run to run gets a value of the month in its place. The values depend on the
 * order in which things appear, and neither on the clock nor on how fast the service is.
 */

const MOMENT = /^(20\d\d)-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?([+-]\d\d(?::?\d\d)?|Z)$/;
/** Moments of earlier years come from the requests of the month, and are kept. */
const FIRST_YEAR_OF_CLOCKS = 2026;
const HOUR_MS = 3_600_000;
/** The month's clock goes on by this much at each request, and by a second at each moment that a request makes. */
const REQUEST_MS = 97_000;

/** Secrets and random texts, by their forms. The first group stays. */
const RANDOM: readonly RegExp[] = [
  /^(whsec_)[A-Za-z0-9+/=]{20,}$/,
  /^((?:lbop_|lb_)?)[A-Za-z0-9_-]{32,}$/,
  /^()[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
];

/** Members that measure the machine, or depend on the day on which the test runs. */
const MEASURED: Readonly<Record<string, unknown>> = {
  duration_ms: 42,
  next_run_at: '2025-12-01 04:00:00Z',
  version: '1.0.0',
};

/** Members that come before the other moments of a thing. */
const BEGINNINGS = new Set(['created_at', 'received_at', 'started_at']);
/** A thing begins, then its parts do, then it ends. */
const rank = (name: string, value: unknown) => (BEGINNINGS.has(name) ? 0 : typeof value === 'object' ? 1 : 2);

/** Members that change with each attempt. */
const OF_ATTEMPTS = new Set(['due_at', 'finished_at']);

interface Secret {
  real: string;
  shown: string;
}

type Members = Readonly<Record<string, unknown>>;

/** The names and moments that stand for those of the service so far. */
export class Normaliser {
  /** The month's moments, by the thing and its member. */
  #moments = new Map<string, number>();
  /** The replacements of random texts. */
  #texts = new Map<string, string>();
  #clock = Date.UTC(2025, 10, 3, 6, 30);
  #apiSecret: Secret | undefined;
  readonly #receiver: string;

  /** @param receiver the URL of the webhooks' receiver. */
  constructor(receiver: string) {
    this.#receiver = receiver;
  }

  /** A copy for a trial, which may be thrown away. */
  copy(): Normaliser {
    const copy = new Normaliser(this.#receiver);
    copy.#moments = new Map(this.#moments);
    copy.#texts = new Map(this.#texts);
    copy.#clock = this.#clock;
    copy.#apiSecret = this.#apiSecret;
    return copy;
  }

  /** Sets the month's clock. Moments that appear from now on are later than this one. */
  goTo(moment: string): void {
    this.#clock = Date.parse(moment);
  }

  /** Says when a thing began that has been there before it appears, such as `apikey 1`. */
  begin(thing: string, moment: string): void {
    this.#moments.set(`${thing}.created_at`, Date.parse(moment));
  }

  /** Tells that another request is made. */
  nextRequest(): void {
    this.#clock += REQUEST_MS;
  }

  /** @returns what the examples show in place of a request or an answer. */
  normalise(value: unknown): unknown {
    return this.#member('', value, '', {});
  }

  #member(name: string, value: unknown, owner: string, members: Members): unknown {
    if (value !== null && name in MEASURED) return MEASURED[name];
    if (Array.isArray(value))
      return value.map((it, index) => this.#member(name, it, `${owner}/${name}${index}`, members));
    if (typeof value === 'object' && value !== null) return this.#object(name, value as Members, owner);
    if (name === 'timestamp' && typeof value === 'number') return this.#moment(name, owner, members) / 1_000;
    if (typeof value !== 'string') return value;
    if (name === 'hash') return this.#hash(members, value);
    if (name === 'cursor' || name === 'Last-Event-ID') return this.#cursor(value);
    const [, year, zone] = MOMENT.exec(value) ?? [];
    if (zone !== undefined && Number(year) >= FIRST_YEAR_OF_CLOCKS)
      return inZone(this.#moment(name, owner, members), zone);
    const shown = this.#text(value);
    if (name === 'api_secret') this.#apiSecret = { real: value, shown };
    return shown;
  }

  #object(name: string, members: Members, parent: string): unknown {
    const owner =
      'id' in members ? `${name.replace(/ies$/, 'y').replace(/s$/, '')} ${members.id}` : `${parent}/${name}`;
    const entries = Object.entries(members);
    const inOrder = entries.toSorted(([a, ofA], [b, ofB]) => rank(a, ofA) - rank(b, ofB));
    const made = new Map(inOrder.map(([key, it]) => [key, this.#member(key, it, owner, members)]));
    return Object.fromEntries(entries.map(([key]) => [key, made.get(key)]));
  }

  #moment(name: string, owner: string, { attempts }: Members): number {
    const key = `${owner}.${name}${OF_ATTEMPTS.has(name) && attempts !== undefined ? attempts : ''}`;
    const known = this.#moments.get(key);
    if (known !== undefined) return known;
    this.#clock += 1_000;
    this.#moments.set(key, this.#clock);
    return this.#clock;
  }

  /** The hash of the shown movement with the shown secret. @throws if the real one is not made in this way. */
  #hash(movement: Members, real: string): string {
    if (this.#apiSecret === undefined) throw new Error('There is a hash before there is an API secret');
    if (hashOf(movement, this.#apiSecret.real) !== real) throw new Error('The hash is made in another way');
    return hashOf(movement, this.#apiSecret.shown);
  }

  #text(value: string): string {
    if (value.startsWith(this.#receiver)) return value.replace(this.#receiver, 'https://kitabevi.example');
    const [, start] = /\b((?:lb|lbop)_[A-Za-z0-9_-]{6})(?:…|$)/.exec(value) ?? [];
    if (start !== undefined) return value.replace(start, this.#startOfKey(start));
    const form = RANDOM.find((it) => it.test(value));
    if (form === undefined || /^[A-Z]{2}\d{2}/.test(value)) return value;
    const shown = this.#texts.get(value) ?? randomLike(value, form.exec(value)?.[1] ?? '', this.#texts.size);
    this.#texts.set(value, shown);
    return shown;
  }

  /** A cursor of a feed ends with the random name of the feed. Other cursors are kept. */
  #cursor(value: string): string {
    const text = Buffer.from(value, 'base64url').toString('latin1');
    const [, position, feed] = /^(f1:\d+:\d+:)([\w-]{22})$/.exec(text) ?? [];
    if (position === undefined || feed === undefined) return value;
    const shown = this.#texts.get(feed) ?? randomLike(feed, '', this.#texts.size);
    this.#texts.set(feed, shown);
    return Buffer.from(position + shown).toString('base64url');
  }

  /** The first characters of an API key or a token, as listings show them. */
  #startOfKey(start: string): string {
    const [, whole] = [...this.#texts].find(([real]) => real.startsWith(start)) ?? [];
    if (whole !== undefined) return whole.slice(0, start.length);
    const prefix = start.slice(0, start.indexOf('_') + 1);
    const shown = randomLike(start, prefix, this.#texts.size);
    this.#texts.set(start, shown);
    return shown;
  }
}

/** A moment as the API writes it. @param zone `Z`, or hours such as `+03`. */
function inZone(moment: number, zone: string): string {
  const hours = zone === 'Z' ? 0 : Number.parseInt(zone, 10);
  return `${new Date(moment + hours * HOUR_MS).toISOString().slice(0, 19).replace('T', ' ')}${zone}`;
}

/** The hash of a movement in a notification. */
const hashOf = ({ dc, code, amount, balance, currency, description }: Members, secret: string) =>
  Buffer.from(
    createHash('sha256')
      .update([dc, code, amount, balance, currency, description, secret].join(''))
      .digest('hex'),
  ).toString('base64');

/** A random text in the same form and of the same length. @param seed makes it differ from the others. */
function randomLike(value: string, prefix: string, seed: number): string {
  const bytes = createHash('sha512').update(`ledgerbell ${seed}`).digest();
  const rest = value.slice(prefix.length);
  if (prefix === 'whsec_')
    return prefix + bytes.subarray(0, Buffer.from(rest, 'base64').length).toString('base64');
  if (!/^[0-9a-f-]{36}$/.test(rest)) return prefix + bytes.toString('base64url').slice(0, rest.length);
  const hex = [...bytes.toString('hex')];
  return rest.replaceAll(/[0-9a-f]/g, () => hex.shift() ?? '0');
}
