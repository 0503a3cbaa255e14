/** Contents of a support bundle: answers of the Core, its logs, and the journal of its units. The Core hides secrets in all of it. */
import { reasonOf } from '@device-core/plugin-api';
import type { ProgramContext } from '@device-core/plugin-api/program';
import { BUNDLE } from '../bundle-table.ts';

export interface BundlePart {
  readonly name: string;
  readonly text: string;
  readonly what: string;
}

export interface Collected {
  readonly files: readonly BundlePart[];
  readonly left: readonly { readonly name: string; readonly reason: string }[];
}

/** `bytes` of logs at most, the newest. */
export async function collect(context: ProgramContext<object>, bytes: number): Promise<Collected> {
  const files: BundlePart[] = [];
  const left: { name: string; reason: string }[] = [];
  const part = async (name: string, what: string, read: () => Promise<string>) => {
    context.signal.throwIfAborted();
    try {
      files.push({ name, what, text: await read() });
    } catch (error) {
      context.signal.throwIfAborted();
      left.push({ name, reason: reasonOf(error) });
    }
  };
  // The first answer is asked for by itself: without a Core there is no bundle.
  const first = await context.client.get('/version');
  files.push({ name: 'README.txt', what: 'what this is', text: readme(String(first.body.version ?? '')) });
  for (const { name, what } of BUNDLE)
    await part(name, what, async () =>
      String((await context.client.get('/logs/bundle', { query: { name } })).body.text),
    );
  await logs(context, bytes, part, left);
  return { files, left };
}

async function logs(
  { client, signal }: ProgramContext<object>,
  bytes: number,
  part: (name: string, what: string, read: () => Promise<string>) => Promise<void>,
  left: { name: string; reason: string }[],
): Promise<void> {
  let room = bytes;
  const { body } = await client.get('/logs/files');
  for (const { name } of body.files as readonly { readonly name: string }[]) {
    if (room <= 0) {
      left.push({ name: `log/${name}`, reason: 'there are newer ones; --mb takes more' });
      continue;
    }
    await part(`log/${name.replace(/\.zst$/, '.log')}`, 'log', async () => {
      let text = '';
      for (let offset = 0, end = false; !end && text.length < room; ) {
        signal.throwIfAborted();
        const piece = (await client.get('/logs/file', { query: { name, offset } })).body;
        text += String(piece.text);
        end = piece.end === true || Number(piece.next) <= offset;
        offset = Number(piece.next);
      }
      room -= text.length;
      return text;
    });
  }
}

function readme(version: string): string {
  return [
    `A support bundle of a Device Core ${version}, made ${new Date().toISOString()} by devicectl support-bundle.`,
    'Nothing sent it. It holds what its listing said: logs, settings, states, and what left the device.',
    'Secrets are hidden: by their names, by their looks, and wherever one stands that the device keeps.',
    'Read it all the same before you hand it on: names of apps, hosts and people stand in logs.',
    '',
  ].join('\n');
}
