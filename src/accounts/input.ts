import * as v from 'valibot';
import { Title } from '../http/input.ts';
import { documented, Id, maxCharacters, wellFormed } from '../validation.ts';
import { isIban } from './iban.ts';

const CURRENCIES = Intl.supportedValuesOf('currency');

/** An IBAN as people write it: with spaces, in upper or lower case. */
const IBAN_SHAPE = /^ *(?:[A-Za-z] *){2}(?:[0-9] *){2}(?:[A-Za-z0-9] *){11,30}$/;

const Iban = v.pipe(
  v.string('must be a string or null'),
  v.regex(IBAN_SHAPE, 'must be an IBAN, with or without spaces'),
  v.transform((text) => text.replaceAll(' ', '').toUpperCase()),
  v.check(isIban, 'must be an IBAN with correct check digits'),
);

const AccountNumber = v.pipe(
  v.string('must be a string or null'),
  ...maxCharacters(64),
  v.regex(/\S/, 'must not be blank'),
  documented({ minLength: 1 }),
  wellFormed,
  v.trim(),
  v.description(
    'The account number as the bank writes it. Statements that name no IBAN find the account by it.',
  ),
);

/** The body of POST /v1/accounts. */
export const NewAccount = v.pipe(
  v.strictObject({
    bank: v.optional(Title),
    bank_id: v.optional(Id),
    title: Title,
    currency: v.picklist(CURRENCIES, 'must be a currency of ISO 4217, such as "TRY"'),
    iban: v.nullish(Iban, null),
    number: v.nullish(AccountNumber, null),
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

/** The body of PATCH /v1/accounts/:id. null removes an IBAN or a number. */
export const AccountChange = v.pipe(
  v.strictObject({
    title: v.optional(Title),
    iban: v.optional(v.nullable(Iban)),
    number: v.optional(v.nullable(AccountNumber)),
  }),
  v.check((change) => Object.keys(change).length > 0, 'must have at least one field to change'),
  documented({ minProperties: 1 }),
);

export type AccountChange = v.InferOutput<typeof AccountChange>;
