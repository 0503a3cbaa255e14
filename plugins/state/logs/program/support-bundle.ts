import { lstat, open, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { cell, defineProgram, type ProgramContext, usage } from '@device-core/plugin-api/program';
import { packed } from './bundle-archive.ts';
import { type Collected, collect } from './bundle-parts.ts';

interface Args {
  readonly file?: string;
  readonly list?: boolean;
  readonly mb: number;
}

/** `devicectl support-bundle [FILE]` */
export const program = defineProgram<Args>({
  description:
    'Logs, the last start, versions, settings with their origins, health, usage and the ledger, with secrets hidden, in one file on this machine. It is listed first. Nothing sends it.',
  params: {
    type: 'object',
    properties: {
      file: {
        type: 'string',
        description: 'a tar.zst; support-<date>.tar.zst here if absent. One that is there is never replaced.',
      },
      list: { type: 'boolean', description: 'list what would be in it, and write nothing' },
      mb: {
        type: 'integer',
        minimum: 1,
        maximum: 500,
        default: 30,
        description: 'so many megabytes of logs at most, the newest',
      },
    },
  },
  cli: { fixed: ['file'] },
  async run(context) {
    const { out, args } = context;
    const target = resolve(args.file ?? `support-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.tar.zst`);
    // Before the device is asked for anything: a path that cannot be written is found here.
    if (args.list !== true) await refuseThere(target);
    const found = await collect(context, args.mb * (1 << 20));
    if (!out.json) await list(context, found);
    const files = found.files.map(({ name, text }) => ({ name, bytes: Buffer.byteLength(text) }));
    if (args.list !== true) await write(target, await packed(found.files, Date.now()));
    if (out.json)
      return out.line(JSON.stringify({ ...(args.list === true ? {} : { file: target }), files, left: found.left }));
    if (args.list !== true)
      await out.line(`written to ${cell(target)}, for you alone to read. Nothing was sent: look at it before you do.`);
  },
});

async function list({ out }: ProgramContext<Args>, { files, left }: Collected): Promise<void> {
  for (const { name, text, what } of files)
    await out.line(
      `${String(Buffer.byteLength(text)).padStart(9)}  ${cell(name).padEnd(28)} ${out.paint('dim', what)}`,
    );
  for (const { name, reason } of left) await out.line(out.paint('yellow', `left out: ${cell(name)} (${cell(reason)})`));
}

async function refuseThere(target: string): Promise<void> {
  if (await lstat(target).catch(() => undefined)) throw usage(`${target} is there already`, 'name another file');
}

async function write(target: string, bytes: Buffer): Promise<void> {
  // The file is made exclusively, so a planted link is not followed.
  const file = await open(target, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw usage(`${target} is there already`, 'name another file');
    throw usage(`cannot write in ${dirname(target)}: ${error.code ?? error.message}`);
  });
  try {
    await file.writeFile(bytes);
    await file.sync();
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}
