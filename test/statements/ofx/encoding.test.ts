import { expect, it } from 'vitest';
import { encodingOf } from '../../../packages/statements/src/ofx/parse.ts';
import { ofxHeader } from './statement.ts';

it.each<[string, string, string | null]>([
  ['USASCII', '1252', 'windows-1252'],
  ['USASCII', '1254', 'windows-1254'],
  ['USASCII', 'ISO-8859-1', 'iso-8859-1'],
  ['USASCII', '8859-9', 'iso-8859-9'],
  ['USASCII', 'ISO-8859-77', null],
  ['USASCII', 'NONE', null],
  ['UTF-8', 'NONE', 'utf-8'],
  ['UTF-8', '1252', 'utf-8'],
  ['USASCII', 'UTF-8', 'utf-8'],
  ['UNICODE', 'NONE', null],
])('the OFX reader takes the encoding of the header: %s %s', (encoding, charset, label) => {
  expect(encodingOf(ofxHeader(encoding, charset))).toBe(label);
  expect(encodingOf(ofxHeader(encoding, charset).replaceAll('\r\n', ''))).toBe(label);
});

it('the OFX reader leaves the encoding of OFX 2 to its XML declaration', () => {
  expect(encodingOf('<?xml version="1.0" encoding="ISO-8859-9"?><?OFX OFXHEADER="200"?><OFX>')).toBeNull();
});
