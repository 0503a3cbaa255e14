/** `devicectl nfc`: the tag that is there. */
import type { NfcReaderInfo } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action } from '../cli.ts';
import { usage } from '../failure.ts';
import { cell } from '../output.ts';

type Told = Readonly<Record<string, unknown>> & { readonly type: string };

export function addNfc(program: Command): void {
  const nfc = program.command('nfc').description('NFC readers and tags');
  nfc
    .command('readers', { isDefault: true })
    .description('every reader and the tag at it')
    .action(
      action(async ({ client, out }) => {
        const answer = await client.get('/nfc/readers');
        if (out.json) return out.line(answer.text);
        const rows = (answer.body.readers as readonly NfcReaderInfo[]).map(({ name, chip, tag, problem }) => [
          name,
          chip,
          tag?.uid ?? '-',
          cell(problem),
        ]);
        await out.table(['READER', 'CHIP', 'TAG', 'PROBLEM'], rows, { empty: 'there are no NFC readers' });
      }),
    );
  nfc
    .command('read')
    .description('the records of the tag that is there')
    .option('--reader <name>', 'where there is more than one')
    .action(
      action<[], { readonly reader?: string }>(async ({ client, out }, _, options) => {
        const answer = await client.post('/NFC_read', { ...options });
        if (out.json) return out.line(answer.text);
        const { tag, records } = answer.body as unknown as { tag: { uid: string }; records: readonly Told[] };
        await out.line(`tag  ${tag.uid}`);
        for (const { type, text, uri, mime, name, data } of records)
          await out.line(`${type}  ${cell(String(text ?? uri ?? `${mime ?? name} ${data}`))}`);
      }),
    );
  nfc
    .command('write')
    .description('replace the records of the tag that is there')
    .option('--text <text>', 'a text')
    .option('--uri <uri>', 'an address')
    .option('--reader <name>', 'where there is more than one')
    .action(
      action<[], { readonly text?: string; readonly uri?: string; readonly reader?: string }>(
        async ({ client, out }, _, { text, uri, ...reader }) => {
          const records = [
            ...(text === undefined ? [] : [{ type: 'text', text }]),
            ...(uri === undefined ? [] : [{ type: 'uri', uri }]),
          ];
          if (records.length === 0) throw usage('nfc write needs --text or --uri');
          const answer = await client.post('/NFC_write', { ...reader, records });
          if (out.json) return out.line(answer.text);
          await out.line(`written to ${(answer.body.tag as { uid: string }).uid}`);
        },
      ),
    );
}
