import type { ChainStatement } from '../../packages/reconcile/src/periods.ts';

type Given = Pick<ChainStatement, 'id' | 'from' | 'to' | 'opening' | 'closing'>;

/** A final statement without a number, whose one entry gives its closing balance. */
export const chainStatement = (fields: Given & Partial<ChainStatement>): ChainStatement => ({
  kind: 'final',
  number: null,
  place: null,
  sequence: null,
  format: 'mt940',
  credits: 0n,
  debits: 0n,
  difference: null,
  entries: 1,
  beginsWithin: false,
  repeated: new Set(),
  ...fields,
});
