/** An archive of this machine, on its way to the device that is meant. */

import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { maybe } from '@device-core/plugin-api';
import { pause } from '@device-core/plugin-api/inside/program';
import { Failure, type ProgramContext, usage } from '@device-core/plugin-api/program';

/** Bytes at once: the device takes no more. */
const PIECE = 128 << 10;
const TIMEOUT_MS = 60_000;
/** A piece that did not get through, and what is waited before it is sent again. */
const TRIES = 5;
const PAUSE_MS = 1_000;
const CUT = ['UNAVAILABLE', 'UNREACHABLE', 'TIMEOUT'];

type Context = Pick<ProgramContext, 'client' | 'out' | 'signal' | 'target'>;

/**
 * Resolves `source` for the device. A local path is made absolute, and sent where the device is another machine; a
 * path that does not exist here is one of the device. Throws a usage error for a folder that would have to be sent.
 */
export async function sent(source: string, context: Context): Promise<string> {
  const file = resolve(source);
  const there = await stat(file).catch(() => undefined);
  if (!there) return source;
  if (context.target.name.startsWith('unix:')) return file;
  if (!there.isFile())
    throw usage(
      `${file} is a folder of this machine`,
      'make one file of it: devicectl image archive FOLDER --out FILE',
    );
  return send(file, there.size, context);
}

async function send(path: string, size: number, { client, out, signal }: Context): Promise<string> {
  await using file = await open(path, 'r');
  const buffer = Buffer.alloc(PIECE);
  let answer: Readonly<Record<string, unknown>> = {};
  let told = 0;
  for (let offset = 0; offset < size; ) {
    const { bytesRead } = await file.read(buffer, 0, PIECE, offset);
    if (bytesRead === 0) throw usage(`${path} became shorter while it was sent`);
    const { upload } = answer;
    const body = { ...maybe({ upload }), offset, data: buffer.toString('base64', 0, bytesRead) };
    answer = await again(
      signal,
      async () => (await client.post('/update/uploads', body, { timeoutMs: TIMEOUT_MS })).body,
    );
    offset += bytesRead;
    const tenth = Math.floor((10 * offset) / size);
    if (tenth > told && out.terminal && !out.json) await out.line(out.paint('dim', `sent ${tenth}0 %`));
    told = tenth;
  }
  if (size === 0) throw usage(`${path} is empty`);
  return String(answer.source);
}

/** The same piece may come twice: it is put in the same place. */
async function again<T>(signal: AbortSignal, post: () => Promise<T>): Promise<T> {
  for (let nth = 1; ; nth += 1) {
    signal.throwIfAborted();
    try {
      return await post();
    } catch (error) {
      if (!(error instanceof Failure) || !CUT.includes(error.code) || nth >= TRIES) throw error;
    }
    await pause(PAUSE_MS, signal);
  }
}
