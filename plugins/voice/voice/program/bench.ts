import { setTimeout as pause } from 'node:timers/promises';
import { encodeWav, msOf, resample } from '@device-core/plugin-api/audio';
import { cell, defineProgram, type ProgramClient, type ProgramOutput, usage } from '@device-core/plugin-api/program';
import { CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import type { IntentMatch } from '@device-core/plugin-api/services/intents';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import {
  type Expected,
  type Figures,
  figuresOf,
  type Judged,
  meaningOf,
  percentileText,
  rateText,
  shareText,
  verdictOf,
} from './figures.ts';
import { heard, hears, idle, inject, newest, POLL_MS, since } from './microphone.ts';
import { type Label, type Pcm, type Recording, readFolder, readWav } from './recordings.ts';

interface Args {
  readonly folder: string;
  readonly phrase: string;
  readonly wake: boolean;
  readonly files: number;
  readonly seconds: number;
}

/** A wake phrase of which nothing has come so long after the sound was missed. */
const MISSED_MS = 2_500;
/** People do not say the next thing at once. */
const BETWEEN_MS = 400;
/** Sound that the microphone takes at once. */
const PIECE_S = 50;

/** `devicectl voice bench` */
export const program = defineProgram<Args>({
  description:
    'The commands are carried out: use a simulator. The folder holds labels.json, or a text file beside each WAV file.',
  params: {
    type: 'object',
    required: ['folder'],
    properties: {
      folder: { type: 'string', description: 'of recordings' },
      phrase: { type: 'string', default: 'hey computer', description: 'that a text begins with' },
      wake: { type: 'boolean', default: true, description: 'files without a label hold a command alone' },
      files: { type: 'integer', minimum: 1, maximum: 10_000, default: 500, description: 'at most' },
      seconds: { type: 'integer', minimum: 1, maximum: 86_400, default: 3_600, description: 'of sound at most' },
    },
  },
  cli: { fixed: ['folder'] },
  async run({ client, out, args, signal }) {
    const { folder, phrase, wake, files, seconds } = args;
    const recordings = await readFolder(folder, { phrase: phrase.toLowerCase(), button: !wake, most: files });
    await hears(client);
    const judged: Judged[] = [];
    let left = seconds;
    for (const recording of recordings) {
      signal.throwIfAborted();
      const pcm = await readWav(recording.path);
      left -= msOf(pcm.samples.length, pcm.rate) / 1_000;
      if (left < 0) throw usage(`${recording.path}: with it there are more than ${seconds} s of sound: give --seconds`);
      const one = await speak(client, recording, pcm, signal);
      judged.push(one);
      if (!out.json) await out.line(`${judged.length}/${recordings.length} ${cell(recording.file)}: ${resultOf(one)}`);
    }
    const groups = [...new Set(judged.flatMap(({ group }) => group ?? []))];
    const by = groups.map((group) => [group, figuresOf(judged.filter((one) => one.group === group))] as const);
    const all = figuresOf(judged);
    if (!out.json) return print(out, all, by);
    const clips = judged.map((one) => ({ file: one.file, result: resultOf(one), turns: one.turns }));
    await out.line(JSON.stringify({ ok: true, ...all, groups: Object.fromEntries(by), recordings: clips }));
  },
});

async function speak(client: ProgramClient, recording: Recording, pcm: Pcm, signal: AbortSignal): Promise<Judged> {
  const { file, wake, group } = recording;
  const meant = await meantBy(client, recording);
  const { samples } = resample(pcm, CAPTURE_RATE);
  await idle(client, signal);
  const said = { samples, awaited: wake !== 'none' };
  const turns = wake === 'button' ? await pressed(client, samples) : await called(client, said, signal);
  await pause(BETWEEN_MS);
  return { file, wake, meant, group, seconds: samples.length / CAPTURE_RATE, turns };
}

async function meantBy(client: ProgramClient, { text, intent, slots = {} }: Label): Promise<Expected['meant']> {
  if (intent !== undefined) return intent && meaningOf({ intent, slots });
  if (text === undefined) return undefined;
  const match = (await client.post('/intents/match', { text })).body as unknown as IntentMatch;
  return match.outcome === 'plan' ? meaningOf(match.plan) : null;
}

/** Turns that the sound begins by itself. */
async function called(
  client: ProgramClient,
  { samples, awaited }: { readonly samples: Int16Array; readonly awaited: boolean },
  signal: AbortSignal,
): Promise<readonly VoiceTurn[]> {
  const before = await newest(client);
  for (let from = 0; from < samples.length; from += PIECE_S * CAPTURE_RATE) {
    signal.throwIfAborted();
    await inject(client, wavOf(samples.subarray(from, from + PIECE_S * CAPTURE_RATE)), true);
  }
  const missed = performance.now() + MISSED_MS;
  while (performance.now() < missed) {
    if (awaited && (await since(client, before)).length > 0) break;
    await pause(POLL_MS);
  }
  await idle(client, signal);
  return since(client, before);
}

/** The turn of a button; none where nothing was heard. */
async function pressed(client: ProgramClient, samples: Int16Array): Promise<readonly VoiceTurn[]> {
  const turn = await heard(client, wavOf(samples));
  return turn.outcome === 'silent' ? [] : [turn];
}

function wavOf(samples: Int16Array): string {
  return Buffer.from(encodeWav({ rate: CAPTURE_RATE, samples })).toString('base64');
}

function resultOf({ wake, meant, turns }: Judged): string {
  const [turn] = turns;
  const words = turn?.heard === undefined ? '' : ` "${cell(turn.heard)}"`;
  if (wake === 'none') return turns.length === 0 ? 'quiet' : `${turns.length} false calls${words}`;
  if (!turn) return 'missed';
  if (meant === undefined) return 'called';
  const plan = turn.plan ? ` as ${cell(turn.plan.intent)}` : '';
  return `${verdictOf(turn, meant)}${plan}${words}`;
}

async function print(out: ProgramOutput, all: Figures, groups: readonly (readonly [string, Figures])[]): Promise<void> {
  for (const [name, figures] of [['', all] as const, ...groups]) {
    const { missed, commands, strangers, falseCalls, latency } = figures;
    await out.line('');
    if (name !== '') await out.line(cell(name));
    await out.table(
      ['FIGURE', 'VALUE (95 %)'],
      [
        ['wake phrases missed', shareText(missed)],
        ['commands right', shareText(commands.right)],
        ['commands done wrongly', shareText(commands.wrong)],
        ['commands refused', shareText(commands.refused)],
        ['commands unheard', shareText(commands.unheard)],
        ['strange sentences done', shareText(strangers)],
        ['false calls', rateText(falseCalls)],
        ['to the answer, p50', percentileText(latency.p50)],
        ['to the answer, p95', percentileText(latency.p95)],
      ],
    );
  }
}
