import { maybe } from '@device-core/plugin-api';
import { defineProgram, usage } from '@device-core/plugin-api/program';

interface Args {
  readonly text?: string;
  readonly uri?: string;
  readonly reader?: string;
}

/** `devicectl nfc write` */
export const program = defineProgram<Args>({
  params: {
    type: 'object',
    properties: {
      text: { type: 'string', description: 'a text' },
      uri: { type: 'string', description: 'an address' },
      reader: { type: 'string', description: 'where there is more than one' },
    },
  },
  async run({ client, out, args }) {
    const { text, uri, reader } = args;
    const records = [
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...(uri === undefined ? [] : [{ type: 'uri', uri }]),
    ];
    if (records.length === 0) throw usage('nfc write needs --text or --uri');
    const answer = await client.post('/NFC_write', { ...maybe({ reader }), records });
    if (out.json) return out.line(answer.text);
    await out.line(`written to ${(answer.body.tag as { uid: string }).uid}`);
  },
});
