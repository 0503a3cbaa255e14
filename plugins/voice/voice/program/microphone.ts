/** Sound for the simulated microphone, and the turns that come of it. */
import { setTimeout as pause } from 'node:timers/promises';
import { EXIT, Failure, type ProgramClient } from '@device-core/plugin-api/program';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import { TURN_MS } from './turn.ts';

export const POLL_MS = 100;
/** A request lasts as long as its sound. */
const INJECT_MS = 150_000;
const MOST_TURNS = 20;

/** Milliseconds of the sound. With `wait` it has been heard when this resolves. */
export async function inject(client: ProgramClient, wav: string, wait = false): Promise<number> {
  const request = { timeoutMs: INJECT_MS, accept: [404] };
  const { status, body } = await client.post('/audio/inject', { wav, wait }, request);
  if (status !== 404) return Number(body.ms);
  const text = 'cannot speak to this device: it has no simulated microphone (plugin audio-sim)';
  throw new Failure(EXIT.answered, 'UNAVAILABLE', text, { hint: 'try it with the simulator: npm start' });
}

/** Throws VOICE_MUTED. */
export async function hears(client: ProgramClient): Promise<void> {
  if ((await client.get('/voice')).body.muted === true)
    throw new Failure(EXIT.answered, 'VOICE_MUTED', 'the microphone is muted: devicectl voice unmute');
}

/** Id of the newest turn. */
export async function newest(client: ProgramClient): Promise<string | undefined> {
  return (await latest(client, 1))[0]?.turn;
}

/** Turns after this one, the oldest first. */
export async function since(client: ProgramClient, before: string | undefined): Promise<readonly VoiceTurn[]> {
  const turns = await latest(client, MOST_TURNS);
  const known = turns.findIndex(({ turn }) => turn === before);
  return turns.slice(0, known < 0 ? undefined : known).reverse();
}

/** Resolves when the device has nothing more to say. */
export async function idle(client: ProgramClient, signal?: AbortSignal): Promise<void> {
  const deadline = performance.now() + TURN_MS;
  while (performance.now() < deadline) {
    signal?.throwIfAborted();
    const { state } = (await client.get('/voice')).body;
    if (state === 'idle' || state === 'muted') return;
    await pause(POLL_MS);
  }
  throw new Failure(EXIT.answered, 'TIMEOUT', 'the turn did not end in time');
}

/** A turn without wake phrase, of a file or of who speaks. */
export async function heard(client: ProgramClient, wav: string | undefined): Promise<VoiceTurn> {
  const over = new AbortController();
  const listening = client.post('/voice/listen', {}, { timeoutMs: TURN_MS }).finally(() => over.abort());
  const play = async () => {
    while (!over.signal.aborted && (await client.get('/voice')).body.state !== 'listening') await pause(POLL_MS / 5);
    if (!over.signal.aborted && wav !== undefined) await inject(client, wav);
  };
  const [{ body }] = await Promise.all([listening, wav === undefined ? undefined : play()]);
  return body as unknown as VoiceTurn;
}

async function latest(client: ProgramClient, limit: number): Promise<readonly VoiceTurn[]> {
  return (await client.get('/voice/turns', { query: { limit } })).body.turns as readonly VoiceTurn[];
}
