import { quote } from '../shared/text.ts';
import { NO_IDENTITY, type StatementEvent } from '../statement.ts';
import { type Account, type Group, NO_GROUP, readAccount, readGroup } from './headers.ts';
import { createItems } from './items.ts';
import { toEntry } from './map.ts';
import type { BaiRecord } from './records.ts';
import { createControlTotals, createTotals, type LevelName } from './totals.ts';

/** Turns records into the events of statements: one for each account of each group. */
export function createStatementReader() {
  const totals = createControlTotals();
  let isInFile = false;
  let group: Group | null = null;
  let account: Account | null = null;
  let transactions = createTotals();
  let items = createItems();
  let accounts = 0;
  let lastLine = 1;
  let events: StatementEvent[] = [];

  const warn = (line: number, message: string) => events.push({ type: 'warning', line, message });
  const issue = (line: number, path: string, message: string) =>
    events.push({ type: 'issue', line, path, message });
  const isImported = () => group?.status !== 'deletion' && group?.status !== 'test';

  const compare = (name: LevelName, line: number, trailer: BaiRecord | null) => {
    for (const difference of totals.end(name, trailer)) warn(line, difference);
  };
  const endAccount = (line: number, trailer: BaiRecord | null) => {
    if (account === null) return;
    if (trailer === null) warn(line, 'The account has no trailer (49). Its transactions may be incomplete.');
    compare('account', line, trailer);
    if (isImported())
      for (const difference of transactions.compare(account.totals)) warn(account.line, difference);
    if (isImported()) events.push({ type: 'end', line, closing: account.closing });
    account = null;
  };
  const endGroup = (line: number, trailer: BaiRecord | null) => {
    endAccount(line, null);
    if (group === null) return;
    if (trailer === null) warn(line, 'The group has no trailer (98). It may be incomplete.');
    compare('group', line, trailer);
    group = null;
  };

  const beginGroup = (record: BaiRecord) => {
    endGroup(record.line, null);
    group = readGroup(record);
    totals.begin('group');
    for (const message of group.warnings) warn(record.line, message);
    if (group.status === 'correction')
      warn(
        record.line,
        'The group is a correction (status 3). Movements that it no longer contains stay stored.',
      );
  };
  const beginAccount = (record: BaiRecord) => {
    endAccount(record.line, null);
    accounts += 1;
    account = readAccount(record, group ?? NO_GROUP);
    transactions = createTotals();
    items = createItems();
    totals.begin('account');
    totals.add(account.digits);
    if (!isImported()) {
      const why =
        group?.status === 'test' ? 'is a test (status 4)' : 'deletes what was sent before (status 2)';
      issue(record.line, 'group status', `The group ${why}, so this account was not imported.`);
      return;
    }
    const { account: reference, opening } = account;
    events.push({
      type: 'statement',
      line: record.line,
      account: reference,
      kind: group?.kind ?? 'final',
      opening,
      identity: { ...NO_IDENTITY, from: group?.date ?? null, to: group?.date ?? null },
    });
    events.push(...account.warnings);
  };
  const readDetail = (record: BaiRecord) => {
    if (account === null) {
      issue(
        record.line,
        'account',
        'The transaction (16) stands outside of an account (03), so it was not read.',
      );
      return;
    }
    const detail = toEntry(record, group?.date ?? null, account.currency);
    totals.add(detail.digits);
    const partOf = items.partOf(detail);
    if (partOf === null && detail.total !== null) transactions.add(detail.total, detail.digits);
    if (!isImported()) return;
    if (partOf === null) events.push(...detail.events);
    else issue(record.line, 'type code', partOf);
  };

  const read = (record: BaiRecord) => {
    lastLine = record.line;
    if (record.code === '01') {
      endGroup(record.line, null);
      isInFile = true;
      totals.begin('file');
    } else if (record.code === '02') beginGroup(record);
    else if (record.code === '03') beginAccount(record);
    totals.count(record);
    if (record.code === '16') readDetail(record);
    else if (record.code === '49') endAccount(record.line, record);
    else if (record.code === '98') endGroup(record.line, record);
    else if (record.code === '99') {
      endGroup(record.line, null);
      compare('file', record.line, record);
      isInFile = false;
    } else if (record.code === '' || record.code === '88') {
      const found = quote(record.parts[0]?.trim() ?? '');
      issue(
        record.line,
        'record',
        `The line ${found} is not a record. It must begin with 01, 02, 03, 16, 49, 88, 98 or 99 and a comma.`,
      );
    }
  };

  return {
    read(records: readonly BaiRecord[]): StatementEvent[] {
      events = [];
      for (const record of records) read(record);
      return events;
    },
    end(): StatementEvent[] {
      events = [];
      endGroup(lastLine, null);
      if (isInFile) warn(lastLine, 'The file has no trailer (99). It may be incomplete.');
      if (accounts === 0) issue(lastLine, 'account', 'There is no account (03) in this file.');
      return events;
    },
  };
}
