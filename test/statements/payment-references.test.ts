import { describe, expect, it } from 'vitest';
import {
  readCreditorReference,
  readPaymentReference,
  readRate,
} from '../../packages/statements/src/shared/payment-references.ts';

describe('a creditor reference', () => {
  it.each([
    ['of ISO 11649', 'RF18539007547034', 'RF18539007547034'],
    ['in groups and lower case', 'rf18 5390 0754 7034', 'RF18539007547034'],
    ['of a QR-bill', '210000000003139471430009017', '210000000003139471430009017'],
    ['of a QR-bill in groups', '21 00000 00003 13947 14300 09017', '210000000003139471430009017'],
  ])('%s is accepted', (_, text, expected) => {
    expect(readCreditorReference(text)).toBe(expected);
  });

  it.each([
    ['that is missing', undefined],
    ['of ISO 11649 with wrong check digits', 'RF19539007547034'],
    ['of a QR-bill with a wrong check digit', '210000000003139471430009018'],
    ['of zeros', '0'.repeat(27)],
    ['of 26 digits', '21000000000313947143000901'],
    ['of another kind', 'INVOICE 17'],
    ['that is too long', `RF18${'5'.repeat(60)}`],
  ])('%s is not accepted', (_, text) => {
    expect(readCreditorReference(text)).toBeUndefined();
  });
});

describe('a payment reference', () => {
  it.each([
    [' E2E-1 ', 'E2E-1'],
    ['NOTPROVIDED', undefined],
    ['notprovided', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('is read from %j as %j', (text, expected) => {
    expect(readPaymentReference(text)).toBe(expected);
  });
});

describe('an exchange rate', () => {
  it.each([
    ['1.0837', '1.0837'],
    ['1,0837', '1.0837'],
    ['34', '34'],
    ['0', undefined],
    ['1.2e3', undefined],
    ['1.23456789012', undefined],
    [undefined, undefined],
  ])('is read from %j as %j', (text, expected) => {
    expect(readRate(text)).toBe(expected);
  });
});
