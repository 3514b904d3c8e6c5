import { ACCOUNT, BALANCE, DETAIL, ENTRY, type Field } from './element-paths.ts';

/** The elements whose fields belong together. */
export type Scope = 'message' | 'statement' | 'balance' | 'entry' | 'detail';

/** A place in the tree of elements: what its text means, and what may stand below it. */
export interface Place {
  readonly children: Map<string, Place>;
  /** Whether elements that are not listed stand at the same place. Otherwise they are ignored. */
  readonly isEndless: boolean;
  readonly scope: Scope | null;
  field: Field | null;
  /** The field of the attribute Ccy. */
  currency: Field | null;
}

/** Elements that are not read. */
export const IGNORED = createPlace();

/** Above the message element. It may stand at any depth, for example in an envelope. */
export const OUTSIDE = createPlace({ isEndless: true });

const MESSAGES = ['BkToCstmrAcctRpt', 'BkToCstmrStmt', 'BkToCstmrDbtCdtNtfctn'];
const STATEMENTS = ['Rpt', 'Stmt', 'Ntfctn'];

const detail = createPlace({ scope: 'detail', paths: DETAIL });
const entry = createPlace({ scope: 'entry', paths: ENTRY });
for (const path of ['NtryDtls/TxDtls', 'TxDtls']) place(entry, path, detail);
const statement = createPlace({ scope: 'statement', paths: ACCOUNT });
place(statement, 'Bal', createPlace({ scope: 'balance', paths: BALANCE }));
place(statement, 'Ntry', entry);
const message = createPlace({ scope: 'message' });
for (const name of STATEMENTS) place(message, name, statement);
// Version 01 names its messages with a suffix.
for (const name of MESSAGES) for (const suffix of ['', 'V01']) place(OUTSIDE, name + suffix, message);

function createPlace({
  scope = null as Scope | null,
  paths = {} as Readonly<Record<string, Field>>,
  isEndless = false,
} = {}): Place {
  const created: Place = { children: new Map(), scope, isEndless, field: null, currency: null };
  for (const [path, field] of Object.entries(paths)) {
    const [elements = '', attribute] = path.split('@');
    const at = walk(created, elements.split('/'));
    if (attribute === undefined) at.field = field;
    else at.currency = field;
  }
  return created;
}

function walk(from: Place, names: readonly string[]): Place {
  return names.reduce((at, name) => {
    const child = at.children.get(name) ?? createPlace();
    at.children.set(name, child);
    return child;
  }, from);
}

function place(from: Place, path: string, what: Place): void {
  const names = path.split('/');
  walk(from, names.slice(0, -1)).children.set(names.at(-1) ?? '', what);
}
