import * as v from 'valibot';
import { formatCount } from '../../counts.ts';
import { ImportView } from '../../imports/view.ts';
import type { ZoneOffset } from '../../zone-offset.ts';
import { type Column, formatTime, renderFacts } from '../table-output.ts';

/** An import as the API shows it. */
export const Import = v.looseObject(ImportView.entries);
export type Import = v.InferOutput<typeof Import>;
export const ImportAnswer = v.object({ import: Import });

/** `auto` until the first statement is read. */
const formatOf = ({ format, detected_format }: Import): string => detected_format ?? format;

const count = (number: number | null) => (number === null ? null : formatCount(number));

export const importColumns = (zone: ZoneOffset): readonly Column<Import>[] => [
  ['id', ({ id }) => id, 'right'],
  ['status', ({ status }) => status],
  ['format', formatOf],
  ['received at', ({ received_at }) => formatTime(received_at, zone)],
  ['rows', ({ received }) => count(received), 'right'],
  ['new', ({ inserted }) => count(inserted), 'right'],
  ['known', ({ duplicates }) => count(duplicates), 'right'],
  ['rejected', ({ rejected }) => count(rejected), 'right'],
  ['error', ({ error }) => error],
];

export const describeImport = (it: Import, zone: ZoneOffset): string =>
  renderFacts([
    ['import', it.id],
    ['status', it.status],
    ['format', formatOf(it)],
    ['rows', count(it.received)],
    ['new', count(it.inserted)],
    ['known already', count(it.duplicates)],
    ['rejected', count(it.rejected)],
    ['deliveries', count(it.deliveries)],
    ['received', formatTime(it.received_at, zone)],
    ['started', formatTime(it.started_at, zone)],
    ['finished', formatTime(it.finished_at, zone)],
    ['error', it.error],
  ]);
