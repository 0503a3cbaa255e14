import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { defineProgram, EXIT, Failure, type ProgramClient, usage } from '@device-core/plugin-api/program';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import { heard, hears, inject, newest, POLL_MS, since } from './microphone.ts';
import { TURN_MS, tell } from './turn.ts';

interface Args {
  readonly file?: string;
  readonly wake: boolean;
}

/** `devicectl voice listen` */
export const program = defineProgram<Args>({
  description: 'With a file the simulated microphone hears it, without one the people in the room are heard.',
  params: {
    type: 'object',
    properties: {
      file: { type: 'string', description: 'a WAV file that begins with a wake phrase' },
      wake: { type: 'boolean', default: true, description: 'the file holds a command without a wake phrase' },
    },
  },
  cli: { fixed: ['file'] },
  async run({ client, out, args }) {
    const { file, wake } = args;
    if (file === undefined && !wake) throw usage('--no-wake says something about a file');
    const wav = file === undefined ? undefined : await read(file);
    const turn = await (wav !== undefined && wake ? called(client, wav) : heard(client, wav));
    if (out.json) return out.line(JSON.stringify({ ok: true, ...turn }));
    await tell(out, turn);
  },
});

async function read(file: string): Promise<string> {
  try {
    return (await readFile(file)).toString('base64');
  } catch (error) {
    throw usage(`cannot read ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** The turn that the wake phrase of a file begins. */
async function called(client: ProgramClient, wav: string): Promise<VoiceTurn> {
  await hears(client);
  const before = await newest(client);
  const ms = await inject(client, wav);
  const deadline = performance.now() + ms + TURN_MS;
  const spoken = performance.now() + ms + 5_000;
  while (performance.now() < deadline) {
    const [first] = await since(client, before);
    if (first && first.outcome !== 'running') return first;
    if (!first && performance.now() > spoken) throw new Failure(EXIT.answered, 'TIMEOUT', 'no wake phrase was heard');
    await pause(POLL_MS);
  }
  throw new Failure(EXIT.answered, 'TIMEOUT', 'the turn did not end in time');
}
