import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defineProgram, usage } from '@device-core/plugin-api/program';
import { PASSPHRASE, type PassphraseArgs, passphraseOf } from './passphrase.ts';
import { sure, YES } from './sure.ts';

interface Args extends PassphraseArgs {
  readonly file: string;
  readonly yes?: boolean;
}

const TIMEOUT_MS = 600_000;
const WHAT = 'puts the backup in the place of everything that is kept on the device';
const UNSEALED =
  'made without a passphrase, it holds no settings, no secrets and no list of installed plugins: those of the device go';

export const program = defineProgram<Args>({
  description: 'Everything that is kept on the device is exchanged for what the backup holds, at the next start.',
  params: {
    type: 'object',
    required: ['file'],
    properties: {
      file: { type: 'string' },
      ...PASSPHRASE,
      yes: YES,
    },
  },
  cli: { fixed: ['file'], flags: { passphrase: [] }, stdin: 'passphrase' },
  async run({ client, out, args, signal }) {
    const file = resolve(args.file);
    const passphrase = await passphraseOf(args);
    if (!(await stat(file).catch(() => undefined))?.isFile()) throw usage(`${file} is no file`);
    const unsealed = await isUnsealed(file);
    await sure(unsealed ? `${WHAT}; ${UNSEALED}` : WHAT, args.yes, out, signal);
    const sent = await client.upload('/system/restore/uploads', file, { timeoutMs: TIMEOUT_MS });
    const body = { upload: sent.body.upload, ...(passphrase ? { passphrase } : {}) };
    const answer = await client.post('/system/restore', body, { timeoutMs: TIMEOUT_MS });
    if (out.json) return out.line(answer.text);
    const { files, restarts, reason, secretsLeft } = answer.body;
    await out.line(`${String(files)} files are put back ${restarts ? 'now' : `at the next start: ${String(reason)}`}`);
    if (unsealed) await out.line(UNSEALED);
    if (secretsLeft !== undefined)
      await out.line(out.paint('yellow', `the secrets are not put back: ${String(secretsLeft)}`));
  },
});

/** Whether nothing in it is sealed, as its first lines say. What is no backup at all is for the device to say. */
async function isUnsealed(path: string): Promise<boolean> {
  await using file = await open(path, 'r');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(64 << 10), 0, 64 << 10, 0);
  const text = buffer.toString('utf8', 0, bytesRead);
  if (text.startsWith('backup.json\0')) return true; // a plain tar
  const [magic, head = ''] = text.split('\n');
  try {
    return magic === 'device-core backup' && !('salt' in JSON.parse(head));
  } catch {
    return false; // sealed with age, cut off, or no backup
  }
}
