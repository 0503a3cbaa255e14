import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { defineProgram, usage } from '@device-core/plugin-api/program';
import { PASSPHRASE, type PassphraseArgs, passphraseOf } from './passphrase.ts';

interface Args extends PassphraseArgs {
  readonly file: string;
  readonly force?: boolean;
}

const TIMEOUT_MS = 600_000;

/**
 * `devicectl backup FILE < PASSPHRASE`, or with --passphrase-file: the passphrase stands in no command line, as
 * everybody on the machine reads those.
 */
export const program = defineProgram<Args>({
  description:
    'Settings, apps and their data as a tar. A passphrase from standard input or a file adds secrets and seals it for age; without one what may hold secrets is left out.',
  params: {
    type: 'object',
    required: ['file'],
    properties: {
      file: { type: 'string' },
      ...PASSPHRASE,
      force: { type: 'boolean', description: 'a file that is there is replaced' },
    },
  },
  cli: { fixed: ['file'], flags: { passphrase: [] }, stdin: 'passphrase' },
  async run({ client, out, args, signal }) {
    const target = resolve(args.file);
    const passphrase = await passphraseOf(args);
    if (passphrase?.includes('\n')) throw usage('a passphrase is one line, and standard input holds more');
    const fetched = async (opened: FileHandle) => {
      await using file = opened;
      const made = await client.post('/system/backups', passphrase ? { passphrase } : {}, { timeoutMs: TIMEOUT_MS });
      for (let offset = 0, end = false; !end; ) {
        signal.throwIfAborted();
        const path = `/system/backups/${String(made.body.backup)}`;
        const { body } = await client.get(path, { query: { offset } });
        const piece = Buffer.from(String(body.bytes), 'base64');
        await file.writeFile(piece);
        offset += piece.length;
        end = body.end === true || piece.length === 0;
      }
      await file.sync();
      await rename(part, target);
      return made;
    };
    const part = `${target}.part`;
    // Before the device makes anything: a path that cannot be written is found here.
    const file = await begun(target, part, args.force === true);
    const made = await fetched(file).catch(async (error: unknown) => {
      await rm(part, { force: true });
      throw error;
    });
    const { bytes, files, left } = made.body;
    if (out.json) return out.line(made.text);
    await out.line(`${String(files)} files, ${String(bytes)} bytes in ${target}`);
    const without = left as readonly { path: string; reason: string }[];
    for (const { path, reason } of without) await out.line(out.paint('yellow', `left out: ${path} (${reason})`));
  },
});

/** The file beside the target that becomes it. Throws a usage error. */
async function begun(target: string, part: string, force: boolean): Promise<FileHandle> {
  const there = await lstat(target).catch(() => undefined);
  if (there?.isDirectory()) throw usage(`${target} is a folder`, 'name a file');
  if (there !== undefined && !force) throw usage(`${target} is there already`, '--force replaces it');
  return open(part, 'w', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw usage(`cannot write in ${dirname(target)}: ${error.code ?? error.message}`);
  });
}
