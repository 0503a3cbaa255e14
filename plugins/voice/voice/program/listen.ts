import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { defineProgram, EXIT, Failure, type ProgramClient, usage } from '@device-core/plugin-api/program';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import { TURN_MS, tell } from './turn.ts';

const POLL_MS = 100;

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
  if ((await client.get('/voice')).body.muted === true)
    throw new Failure(EXIT.answered, 'VOICE_MUTED', 'the microphone is muted: devicectl voice unmute');
  const [before] = await latest(client, 1);
  const injected = await client.post('/audio/inject', { wav });
  const deadline = performance.now() + Number(injected.body.ms) + TURN_MS;
  const spoken = performance.now() + Number(injected.body.ms) + 5_000;
  while (performance.now() < deadline) {
    const turns = await latest(client, 20);
    const known = turns.findIndex(({ turn }) => turn === before?.turn);
    const [first] = turns.slice(0, known < 0 ? undefined : known).reverse();
    if (first && first.outcome !== 'running') return first;
    if (!first && performance.now() > spoken) throw new Failure(EXIT.answered, 'TIMEOUT', 'no wake phrase was heard');
    await pause(POLL_MS);
  }
  throw new Failure(EXIT.answered, 'TIMEOUT', 'the turn did not end in time');
}

/** A turn without wake phrase, of a file or of who speaks. */
async function heard(client: ProgramClient, wav: string | undefined): Promise<VoiceTurn> {
  const over = new AbortController();
  const listening = client.post('/voice/listen', {}, { timeoutMs: TURN_MS }).finally(() => over.abort());
  const play = async () => {
    while (!over.signal.aborted && (await client.get('/voice')).body.state !== 'listening') await pause(POLL_MS / 5);
    if (!over.signal.aborted) await client.post('/audio/inject', { wav });
  };
  const [{ body }] = await Promise.all([listening, wav === undefined ? undefined : play()]);
  return body as unknown as VoiceTurn;
}

async function latest(client: ProgramClient, limit: number): Promise<readonly VoiceTurn[]> {
  return (await client.get('/voice/turns', { query: { limit } })).body.turns as readonly VoiceTurn[];
}
