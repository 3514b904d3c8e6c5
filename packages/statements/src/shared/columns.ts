import type { Column, DateOrder, Decimals } from './fixed-columns.ts';

/** The columns of a table of records, by how they are read: see `Column`. */

type Place<T extends Column['is']> = { name: string; from: number; to: number; is: T };

const column =
  <T extends Column['is']>(is: T) =>
  (name: string, from: number, to: number): Place<T> => ({ name, from, to, is });

export const text = column('text');
export const raw = column('raw');
export const digits = column('digits');

export const amount = (name: string, from: number, to: number, decimals: Decimals) => ({
  ...column('amount')(name, from, to),
  decimals,
});

export const date = (name: string, from: number, to: number, order: DateOrder) => ({
  ...column('date')(name, from, to),
  order,
});
