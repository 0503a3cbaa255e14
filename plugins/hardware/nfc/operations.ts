import { base64Schema, bytesOf, exactly, textOf } from '@device-core/plugin-api/operation-kit';
import type { NdefRecord, NfcReaderInfo, NfcTag } from '@device-core/plugin-api/services/nfc';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Readers } from './readers.ts';

const READER: JsonSchema = { type: 'string', maxLength: 32, description: 'May be left out where there is one.' };
const TAG: JsonSchema = {
  type: 'object',
  required: ['uid', 'technology', 'atqa', 'sak'],
  properties: {
    uid: { type: 'string', description: 'Lower-case hex of 4, 7 or 10 bytes.' },
    technology: { enum: ['nfc-forum-type-2', 'iso14443a'], description: '`iso14443a`: one that cannot be read here.' },
    atqa: { type: 'integer' },
    sak: { type: 'integer' },
  },
};
const READER_ROW: JsonSchema = {
  type: 'object',
  required: ['name', 'chip'],
  properties: {
    name: { type: 'string' },
    chip: { type: 'string' },
    tag: TAG,
    problem: { type: 'string', description: 'Why it could not be polled last.' },
  },
};
const TOLD: JsonSchema = {
  type: 'object',
  required: ['type'],
  properties: { type: { enum: ['text', 'uri', 'mime', 'external', 'other'] } },
};
const MOST = 8_192;
const RECORD: JsonSchema = {
  type: 'object',
  oneOf: [
    exactly(
      {
        type: { const: 'text' },
        text: { type: 'string', maxLength: MOST },
        language: { type: 'string', maxLength: 63, description: 'en if absent' },
      },
      ['type', 'text'],
    ),
    exactly({ type: { const: 'uri' }, uri: { type: 'string', maxLength: MOST } }),
    exactly({ type: { const: 'mime' }, mime: { type: 'string', maxLength: 255 }, data: base64Schema(MOST) }),
    exactly({ type: { const: 'external' }, name: { type: 'string', maxLength: 255 }, data: base64Schema(MOST) }),
  ],
};
const common = {
  capability: 'sensors.nfc',
  errors: [
    'READER_NOT_FOUND',
    'TAG_NOT_FOUND',
    'TAG_FAILED',
    'PARAMS_INVALID',
    'BUSY',
    'TIMEOUT',
    'CANCELLED',
    'NOT_INITIALIZED',
    'TRANSFER_FAILED',
  ],
} as const;

type JsonRecord = Readonly<Record<string, unknown>> & { readonly type: string };

export function nfcOperations(readers: Readers): readonly Operation<never, unknown>[] {
  const list: Operation<never, { readonly readers: readonly NfcReaderInfo[] }> = {
    ...common,
    name: 'nfc.readers',
    summary: 'List the NFC readers and the tags at them',
    params: exactly({}),
    result: exactly({ readers: { type: 'array', items: READER_ROW } }),
    cli: {
      aliases: ['nfc'],
      columns: [['READER', '{name}'], 'chip', ['TAG', '{tag.uid}'], 'problem'],
      empty: 'there are no NFC readers',
    },
    rest: { method: 'GET', path: '/nfc/readers' },
    run: async () => ({ readers: await readers.readers() }),
  };
  const poll: Operation<{ readonly reader?: string }, { readonly tag?: NfcTag }> = {
    ...common,
    name: 'nfc.poll',
    summary: 'Look for a tag now',
    params: exactly({ reader: READER }, []),
    result: exactly({ tag: TAG }, []),
    rest: { method: 'POST', path: '/NFC_poll' },
    async run({ reader }, { signal, deadline }) {
      const tag = await readers.poll(reader, { signal, deadline });
      return tag ? { tag } : {};
    },
  };
  const read: Operation<{ readonly reader?: string }, object> = {
    ...common,
    name: 'nfc.read',
    summary: 'Read the NDEF records of the tag that is there',
    params: exactly({ reader: READER }, []),
    result: exactly({ tag: TAG, records: { type: 'array', items: TOLD } }),
    cli: { columns: ['type', ['CONTENT', '{text|uri|data}']] },
    rest: { method: 'POST', path: '/NFC_read' },
    async run({ reader }, { signal, deadline }) {
      const { tag, records } = await readers.read(reader, { signal, deadline });
      return { tag, records: records.map(told) };
    },
  };
  const write: Operation<
    { readonly reader?: string; readonly records: readonly JsonRecord[] },
    { readonly tag: NfcTag }
  > = {
    ...common,
    name: 'nfc.write',
    summary: 'Write NDEF records to the tag that is there',
    description: 'Interrupted, it leaves an empty tag, never half a message.',
    params: exactly({ reader: READER, records: { type: 'array', maxItems: 64, items: RECORD } }, ['records']),
    result: exactly({ tag: TAG }),
    rest: { method: 'POST', path: '/NFC_write' },
    run: async ({ reader, records }, { signal, deadline }) => ({
      tag: await readers.write(records.map(heard), reader, { signal, deadline }),
    }),
  };
  return [list, poll, read, write] as readonly Operation<never, unknown>[];
}

function told(record: NdefRecord): object {
  return 'data' in record ? { ...record, data: textOf(record.data) } : record;
}

function heard(record: JsonRecord, index: number): NdefRecord {
  if (record.type === 'text') return { language: 'en', ...record } as unknown as NdefRecord;
  if (typeof record.data !== 'string') return record as unknown as NdefRecord;
  return { ...record, data: bytesOf(record.data, `records[${index}].data`) } as unknown as NdefRecord;
}
