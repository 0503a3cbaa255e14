/** NDEF messages (NFC Forum: NDEF 1.0, RTD Text, RTD URI). */
import { CoreError } from '@device-core/plugin-api';
import type { NdefRecord } from '@device-core/plugin-api/services/nfc';

const FLAG = { begin: 0x80, end: 0x40, chunked: 0x20, short: 0x10, id: 0x08 } as const;
const TNF = { empty: 0, wellKnown: 1, mime: 2, uri: 3, external: 4 } as const;
const UTF16 = 0x80;
/** Prefixes of a URI record, by its first byte. */
const PREFIXES = [
  '',
  'http://www.',
  'https://www.',
  'http://',
  'https://',
  'tel:',
  'mailto:',
  'ftp://anonymous:anonymous@',
  'ftp://ftp.',
  'ftps://',
  'sftp://',
  'smb://',
  'nfs://',
  'ftp://',
  'dav://',
  'news:',
  'telnet://',
  'imap:',
  'rtsp://',
  'urn:',
  'pop:',
  'sip:',
  'sips:',
  'tftp:',
  'btspp://',
  'btl2cap://',
  'btgoep://',
  'tcpobex://',
  'irdaobex://',
  'file://',
  'urn:epc:id:',
  'urn:epc:tag:',
  'urn:epc:pat:',
  'urn:epc:raw:',
  'urn:epc:',
  'urn:nfc:',
] as const;
const MAX_RECORDS = 64;

interface Raw {
  readonly tnf: number;
  readonly type: Buffer;
  readonly payload: Buffer;
}

function malformed(reason: string): never {
  throw new CoreError('TAG_FAILED', { verb: 'read', reason: `its NDEF message is malformed: ${reason}` });
}

/** Throws TAG_FAILED for bytes that are no message. */
export function decodeNdef(bytes: Uint8Array): readonly NdefRecord[] {
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const records: NdefRecord[] = [];
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > message.length) malformed('a record is longer than the message');
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const head = take(1)[0]!;
    if (records.length >= MAX_RECORDS) malformed(`it has more than ${MAX_RECORDS} records`);
    if (((head & FLAG.begin) !== 0) !== (records.length === 0))
      malformed('a record begins a message in the wrong place');
    if (head & FLAG.chunked) malformed('it has records in chunks');
    const typeLength = take(1)[0]!;
    const length = head & FLAG.short ? take(1)[0]! : take(4).readUInt32BE();
    const idLength = head & FLAG.id ? take(1)[0]! : 0;
    const type = take(typeLength);
    take(idLength);
    const payload = take(length);
    if ((head & 7) !== TNF.empty) records.push(toRecord({ tnf: head & 7, type, payload }));
    if (head & FLAG.end) break;
    if (at >= message.length) malformed('it has no last record');
  }
  return records;
}

function toRecord({ tnf, type, payload }: Raw): NdefRecord {
  const name = type.toString('latin1');
  const data = new Uint8Array(payload);
  if (tnf === TNF.wellKnown && name === 'T') {
    const status = payload[0] ?? malformed('a text without its first byte');
    const split = 1 + (status & 0x3f);
    if (split > payload.length) malformed('a text is shorter than its language');
    const body = payload.subarray(split);
    const text = status & UTF16 ? new TextDecoder('utf-16be').decode(body) : body.toString('utf8');
    return { type: 'text', text, language: payload.subarray(1, split).toString('latin1') };
  }
  if (tnf === TNF.wellKnown && name === 'U') {
    const prefix = PREFIXES[payload[0] ?? malformed('a URI without its first byte')] ?? '';
    return { type: 'uri', uri: prefix + payload.subarray(1).toString('utf8') };
  }
  if (tnf === TNF.uri) return { type: 'uri', uri: name };
  if (tnf === TNF.mime) return { type: 'mime', mime: name, data };
  if (tnf === TNF.external) return { type: 'external', name, data };
  return { type: 'other', tnf, name, data };
}

/** Throws PARAMS_INVALID. */
export function encodeNdef(records: readonly NdefRecord[]): Uint8Array {
  if (records.length === 0) return Uint8Array.of(FLAG.begin | FLAG.end | FLAG.short | TNF.empty, 0, 0);
  const parts = records.map((record, index) => {
    const { tnf, type, payload } = toRaw(record);
    const short = payload.length < 256;
    const flags =
      (index === 0 ? FLAG.begin : 0) | (index === records.length - 1 ? FLAG.end : 0) | (short ? FLAG.short : 0);
    const length = Buffer.alloc(short ? 1 : 4);
    if (short) length[0] = payload.length;
    else length.writeUInt32BE(payload.length);
    return Buffer.concat([Buffer.of(flags | tnf, type.length), length, type, payload]);
  });
  return new Uint8Array(Buffer.concat(parts));
}

function toRaw(record: NdefRecord): Raw {
  switch (record.type) {
    case 'text': {
      const language = Buffer.from(record.language, 'latin1');
      if (language.length === 0 || language.length > 63) refuse('language', 'it must have 1 to 63 letters');
      return wellKnown('T', Buffer.concat([Buffer.of(language.length), language, Buffer.from(record.text, 'utf8')]));
    }
    case 'uri': {
      const code = PREFIXES.reduce(
        (best, prefix, index) =>
          record.uri.startsWith(prefix) && prefix.length > PREFIXES[best]!.length ? index : best,
        0,
      );
      const rest = record.uri.slice(PREFIXES[code]!.length);
      return wellKnown('U', Buffer.concat([Buffer.of(code), Buffer.from(rest, 'utf8')]));
    }
    case 'mime':
      return { tnf: TNF.mime, type: typeOf(record.mime, 'mime'), payload: Buffer.from(record.data) };
    case 'external':
      return { tnf: TNF.external, type: typeOf(record.name, 'name'), payload: Buffer.from(record.data) };
    default:
      return { tnf: record.tnf & 7, type: typeOf(record.name, 'name'), payload: Buffer.from(record.data) };
  }
}

function wellKnown(type: string, payload: Buffer): Raw {
  return { tnf: TNF.wellKnown, type: Buffer.from(type), payload };
}

function typeOf(text: string, where: string): Buffer {
  const type = Buffer.from(text, 'latin1');
  if (type.length > 255) refuse(where, 'it has more than 255 letters');
  return type;
}

function refuse(where: string, reason: string): never {
  throw new CoreError('PARAMS_INVALID', { where, reason });
}
