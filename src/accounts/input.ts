import * as v from 'valibot';
import { Title } from '../http/input.ts';
import { documented, Id, maxCharacters, wellFormed } from '../validation.ts';
import { isIban } from './iban.ts';

const CURRENCIES = Intl.supportedValuesOf('currency');

/** An IBAN as people write it: with spaces, in upper or lower case. */
const IBAN_SHAPE = /^ *(?:[A-Za-z] *){2}(?:[0-9] *){2}(?:[A-Za-z0-9] *){11,30}$/;

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
        v.regex(IBAN_SHAPE, 'must be an IBAN, with or without spaces'),
        v.transform((text) => text.replaceAll(' ', '').toUpperCase()),
        v.check(isIban, 'must be an IBAN with correct check digits'),
      ),
      null,
    ),
    number: v.nullish(
      v.pipe(
        v.string('must be a string or null'),
        ...maxCharacters(64),
        v.regex(/\S/, 'must not be blank'),
        documented({ minLength: 1 }),
        wellFormed,
        v.trim(),
        v.description(
          'The account number as the bank writes it. Statements that name no IBAN find the account by it.',
        ),
      ),
      null,
    ),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed && (dataset.value.bank === undefined) === (dataset.value.bank_id === undefined)) {
      addIssue({
        message: 'must be given either by its name (bank) or by its id (bank_id), not both',
        path: [{ type: 'object', origin: 'value', input: dataset.value, key: 'bank', value: undefined }],
      });
    }
  }),
  documented({ oneOf: [{ required: ['bank'] }, { required: ['bank_id'] }] }),
);
