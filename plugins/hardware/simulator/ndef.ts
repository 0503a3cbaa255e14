/** An NDEF message of short records, as a phone would write it on a tag. */

const WELL_KNOWN = 1;
const SHORT = 0x10;
const FIRST = 0x80;
const LAST = 0x40;

export interface TagRecords {
  readonly text?: string;
  readonly uri?: string;
  readonly language?: string;
}

/** Empty where there is nothing on the tag. */
export function ndefMessage({ text, uri, language = 'en' }: TagRecords): Buffer {
  const records: (readonly [type: string, payload: Buffer])[] = [];
  if (text !== undefined) {
    const code = Buffer.from(language, 'ascii');
    records.push(['T', Buffer.concat([Buffer.from([code.length]), code, Buffer.from(text, 'utf8')])]);
  }
  // 0: no part of the address is abbreviated.
  if (uri !== undefined) records.push(['U', Buffer.concat([Buffer.from([0]), Buffer.from(uri, 'utf8')])]);
  return Buffer.concat(
    records.flatMap(([type, payload], index) => {
      const place = (index === 0 ? FIRST : 0) | (index === records.length - 1 ? LAST : 0);
      return [Buffer.from([place | SHORT | WELL_KNOWN, 1, payload.length]), Buffer.from(type, 'ascii'), payload];
    }),
  );
}
