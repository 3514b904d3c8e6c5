import * as v from 'valibot';
import { Title } from '../http/input.ts';
import { Id } from '../validation.ts';
import { isIban } from './iban.ts';

const CURRENCIES = Intl.supportedValuesOf('currency');

/** The body of POST /v1/accounts. */
export const NewAccount = v.pipe(
  v.strictObject({
    bank: v.optional(Title),
    bank_id: v.optional(Id),
    title: Title,
    currency: v.picklist(CURRENCIES, 'must be a currency of ISO 4217, such as "TRY"'),
    iban: v.nullish(
      v.pipe(
        v.string('must be a string or null'),
        v.transform((text) => text.replaceAll(' ', '').toUpperCase()),
        v.check(isIban, 'must be an IBAN whose check digits are right'),
      ),
      null,
    ),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed && (dataset.value.bank === undefined) === (dataset.value.bank_id === undefined)) {
      addIssue({
        message: 'must be given either by name (bank) or by id (bank_id)',
        path: [{ type: 'object', origin: 'value', input: dataset.value, key: 'bank', value: undefined }],
      });
    }
  }),
);
