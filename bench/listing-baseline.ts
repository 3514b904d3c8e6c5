import mysql from 'mysql2/promise';

/**
 * The baseline of listings, in a process of its own. Reads one page with mysql2 and makes the same JSON of it, several times.
 * The parent sends { databaseUrl, find?, page, values, requests } and gets { times, body }, the milliseconds of each time and
 * the JSON of the last.
 */
interface Task {
  databaseUrl: string;
  /** Finds the id at which the page begins. It becomes the second value of `page`. */
  find?: { sql: string; values: unknown[] };
  /** The SQL after FROM transactions t. */
  page: string;
  values: unknown[];
  requests: number;
}

interface Row {
  id: string;
  account_id: string;
  amount: string;
  balance: string;
}

const COLUMNS = `t.id, t.account_id, t.name, t.dc, COALESCE(t.code, '') AS code, t.amount,
  COALESCE(t.balance, '') AS balance, COALESCE(t.description, '') AS description, t.date_issue,
  CONCAT(DATE_FORMAT(t.date_readed + INTERVAL 180 MINUTE, '%Y-%m-%d %H:%i:%s'), '+03') AS date_readed,
  COALESCE(t.opponent_id, '') AS opponent_id, COALESCE(t.opponent_iban, '') AS opponent_iban,
  CONVERT(t.unique_id USING utf8mb4) AS unique_id`;

const ACCOUNTS =
  'SELECT a.id, a.title, a.currency, a.bank_id, b.name FROM accounts a JOIN banks b ON b.id = a.bank_id WHERE a.id IN (?)';

let connection: mysql.Connection | null = null;

process.on('message', async (task: Task) => {
  connection ??= await connect(task.databaseUrl);
  const times: number[] = [];
  let body = '';
  for (let i = 0; i < task.requests; i += 1) {
    const started = performance.now();
    body = await readPage(connection, task);
    times.push(performance.now() - started);
  }
  process.send?.({ times, body });
});

/** Reads accounts separately. A join would repeat the same few accounts in a thousand rows, and take longer. */
async function readPage(sql: mysql.Connection, { find, page, values }: Task): Promise<string> {
  const begins = find === undefined ? [] : [await findBeginning(sql, find)];
  const statement = `SELECT ${COLUMNS} FROM transactions t ${page}`;
  const [rows] = (await sql.query(statement, values.toSpliced(1, 0, ...begins))) as unknown as [Row[]];
  const ids = [...new Set(rows.map(({ account_id }) => account_id))];
  const [found] = (await sql.query(ACCOUNTS, [ids])) as unknown as [Record<string, string>[]];
  const accounts = new Map(
    found.map(({ id = '', title, currency, bank_id, name }) => {
      const bankId = Number(bank_id);
      return [id, { id: Number(id), title, currency, bank_id: bankId, bank: { id: bankId, name } }];
    }),
  );
  return JSON.stringify({
    transactions: rows.map((row) =>
      Object.assign(row, {
        account: accounts.get(row.account_id),
        id: Number(row.id),
        account_id: Number(row.account_id),
        // The database has three decimals, and TRY is shown with two.
        amount: row.amount.slice(0, -1),
        balance: row.balance.slice(0, -1),
      }),
    ),
  });
}

async function findBeginning(
  sql: mysql.Connection,
  { sql: statement, values }: NonNullable<Task['find']>,
): Promise<string> {
  const [[row]] = (await sql.query(statement, values)) as unknown as [{ id: string }[]];
  return row?.id ?? '0';
}

async function connect(databaseUrl: string): Promise<mysql.Connection> {
  const { username, password, pathname, searchParams, hostname, port } = new URL(databaseUrl);
  const socketPath = searchParams.get('socketPath');
  return mysql.createConnection({
    ...(socketPath === null ? { host: hostname, port: Number(port) } : { socketPath }),
    user: username,
    password,
    database: pathname.slice(1),
    charset: 'utf8mb4_unicode_ci',
    timezone: 'Z',
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
  });
}
