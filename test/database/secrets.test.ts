import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { countForeign, resealAll } from '../../src/cli/commands/secrets.ts';
import { createCustomer, readApiSecret } from '../../src/customers/customers.ts';
import { checkSecretKey, createSecretBox, SEALED } from '../../src/database/secret-box.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const { database } = useDatabase();
const newKey = () => randomBytes(32).toString('base64');
const place = SEALED.webhookSecret('17');

describe('a sealed value', () => {
  const key = newKey();
  const box = createSecretBox(key);
  const sealed = box.seal('gizli şifre', place);

  it('opens with its key, and differs each time it is sealed', () => {
    expect(box.open(sealed, place)).toBe('gizli şifre');
    expect(createSecretBox(key).open(sealed, place)).toBe('gizli şifre');
    expect(box.seal('gizli şifre', place)).not.toBe(sealed);
  });

  it.each([
    ['another row', SEALED.webhookSecret('18')],
    ['another column of its row', SEALED.webhookHeaders('17')],
    ['the same row of another table', SEALED.apiSecret('17')],
    ['the same row of sources', SEALED.sourceCredentials('17')],
  ])('does not open when copied to %s', (_, elsewhere) => {
    expect(() => box.open(sealed, elsewhere)).toThrow(/copied from another row/);
  });

  it('does not open with another key or after a change', () => {
    expect(() => createSecretBox(newKey()).open(sealed, place)).toThrow(/SECRET_KEY is not the one/);
    const [id = '', text = ''] = sealed.split('.');
    const changed = Buffer.from(text, 'base64');
    changed.writeUInt8((changed.at(-1) ?? 0) ^ 1, changed.length - 1);
    expect(() => box.open(`${id}.${changed.toString('base64')}`, place)).toThrow(/was changed/);
    for (const broken of ['', '.', id, `${id}.`, `${id}.AAAA`, text])
      expect(() => box.open(broken, place)).toThrow(/cannot be decrypted/);
  });

  it('begins with the id of its key, which reveals nothing else about the key', () => {
    expect(sealed).toMatch(new RegExp(`^${box.keyId}\\.[A-Za-z0-9+/]+=*$`));
    expect(box.keyId).toMatch(/^[0-9a-f]{16}$/);
    expect(Buffer.from(key, 'base64').toString('hex')).not.toContain(box.keyId);
    expect(createSecretBox(newKey()).keyId).not.toBe(box.keyId);
  });

  it('also opens with previous keys, which never seal', () => {
    const next = newKey();
    const rotated = createSecretBox(next, [newKey(), key]);
    expect(rotated.open(sealed, place)).toBe('gizli şifre');
    expect(createSecretBox(next).open(rotated.seal('yeni', place), place)).toBe('yeni');
  });
});

describe('the check of SECRET_KEY', () => {
  beforeEach(() => database.query('DELETE FROM installation'));
  const check = (key: string, ...previous: string[]) =>
    checkSecretKey(database, createSecretBox(key, previous));
  const keysInUse = async () =>
    (await database.query<{ key_id: string }[]>('SELECT key_id FROM installation')).map(
      ({ key_id }) => key_id,
    );

  it('refuses a key that the database was not first used with, and changes nothing', async () => {
    const key = newKey();
    await check(key);
    await check(key);
    await expect(check(newKey())).rejects.toThrow(/SECRET_KEY is not the one/);
    expect(await keysInUse()).toEqual([createSecretBox(key).keyId]);
  });

  it('accepts a new key beside its previous key, and after that refuses any process without both keys', async () => {
    const [old, next] = [newKey(), newKey()];
    await check(old);
    await check(old, next);
    await check(next, old);
    await check(old, next);
    await expect(check(old)).rejects.toThrow(/SECRET_KEY/);
    await expect(check(next)).rejects.toThrow(/SECRET_KEY/);
    await expect(check(newKey(), old), 'another new key').rejects.toThrow(/SECRET_KEY/);
  });

  it('accepts only one of several keys that arrive at the same time', async () => {
    const keys = Array.from({ length: 6 }, newKey);
    const results = await Promise.allSettled(keys.map((key) => check(key)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await keysInUse()).toHaveLength(1);
  });

  it('accepts any number of processes that start with the same key at the same time', async () => {
    const key = newKey();
    await Promise.all(Array.from({ length: 15 }, () => check(key)));
    expect(await keysInUse()).toHaveLength(1);
  });
});

describe('resealing', () => {
  const [old, next] = [newKey(), newKey()];
  const before = createSecretBox(old);
  const after = createSecretBox(next, [old]);
  const reseal = () => resealAll(database, after, () => {});
  beforeEach(async () => {
    for (const table of ['api_keys', 'import_locks', 'customers', 'installation'])
      await database.query(`DELETE FROM ${table}`);
  });
  const customer = async () => {
    const made = await createCustomer({ database, secrets: before }, 'Eski');
    return { id: made.customer.id, secret: made.api_secret };
  };
  const secretOf = (id: string) => readApiSecret({ database, secrets: createSecretBox(next) }, id);

  it('leaves no value of the previous key, works in steps, and can be repeated', async () => {
    const customers = [];
    for (let i = 0; i < 205; i += 1) customers.push(await customer());
    expect(await countForeign(database, after)).toBe(205);
    const steps: number[] = [];
    const result = await resealAll(database, after, (values) => steps.push(values));
    expect(result).toEqual({ resealed: 205, remaining: 0, unreadable: [] });
    expect(steps).toEqual([100, 100, 5]);
    for (const { id, secret } of customers) expect(await secretOf(id)).toBe(secret);
    expect(await reseal()).toEqual({ resealed: 0, remaining: 0, unreadable: [] });
  });

  it('includes the credentials of sources', async () => {
    const { id } = await customer();
    const { insertId } = await database.query<{ insertId: number }>(
      `INSERT INTO sources (customer_id, title, kind, settings, schedule, format, create_accounts)
       VALUES (?, 'SFTP', 'sftp', '{}', '{}', 'auto', 0)`,
      [id],
    );
    const credentials = SEALED.sourceCredentials(String(insertId));
    const sealed = before.seal('{"password":"gizli"}', credentials);
    await database.query('UPDATE sources SET credentials = ? WHERE id = ?', [sealed, insertId]);
    expect(await reseal()).toEqual({ resealed: 2, remaining: 0, unreadable: [] });
    const [row] = await database.query<{ credentials: string }[]>('SELECT credentials FROM sources');
    expect(createSecretBox(next).open(row?.credentials ?? '', credentials)).toBe('{"password":"gizli"}');
    await database.query('DELETE FROM sources');
  });

  it('reports values that cannot be opened, reseals the rest, and keeps the previous key in use', async () => {
    await checkSecretKey(database, before);
    const [one, copied, lost] = [await customer(), await customer(), await customer()];
    await database.query(
      'UPDATE customers c JOIN customers o ON o.id = ? SET c.api_secret = o.api_secret WHERE c.id = ?',
      [one.id, copied.id],
    );
    const sealed = createSecretBox(newKey()).seal('kayıp', SEALED.apiSecret(lost.id));
    await database.query('UPDATE customers SET api_secret = ? WHERE id = ?', [sealed, lost.id]);
    expect(await reseal()).toEqual({
      resealed: 1,
      remaining: 2,
      unreadable: [`customers.api_secret ${copied.id}`, `customers.api_secret ${lost.id}`],
    });
    expect(await secretOf(one.id)).toBe(one.secret);
    await expect(checkSecretKey(database, createSecretBox(next))).rejects.toThrow(/SECRET_KEY/);
  });

  it('does not overwrite a value that was written after it was read', async () => {
    const { id } = await customer();
    const writer = database.createQueryRunner();
    await writer.startTransaction();
    await writer.query('UPDATE customers SET api_secret = ? WHERE id = ?', [
      after.seal('meanwhile', SEALED.apiSecret(id)),
      id,
    ]);
    const resealing = reseal();
    await until('it waits for the row', async () => {
      const waiting = await database.query<unknown[]>(
        "SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'UPDATE customers SET%'",
      );
      return waiting.length > 0;
    });
    await writer.commitTransaction();
    await writer.release();
    expect(await resealing).toEqual({ resealed: 0, remaining: 0, unreadable: [] });
    expect(await secretOf(id)).toBe('meanwhile');
  });
});
