/** What is said to devices for rows 17 and 28 to 30: commands, sentences that are none, noise, and talk without the wake phrase. */
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import { type Colour, join as concatenate, noise, say, silence, type Voice } from '../../fixtures/speech.ts';
import { wholeCpu } from '../harness.ts';
import { leveled, type Noise, type Said, VoiceRoom } from './voice-room.ts';

export const VOICES: readonly Voice[] = ['slt', 'rms'];
export const LEVELS: readonly (readonly [name: string, noise: Noise | undefined])[] = [
  ['clean', undefined],
  ['20 dB', { colour: 'pink', snr: 20 }],
  ['10 dB', { colour: 'pink', snr: 10 }],
  ['0 dB', { colour: 'pink', snr: 0 }],
];
/** What the simulated device with the agenda understands: twelve that it answers in a few words, and one that it answers by a sound. */
export const COMMANDS = [
  'what is on my agenda today',
  'what is on my agenda tomorrow',
  'what is next on my agenda',
  'what time is it now',
  'set the volume to forty percent',
  'what is the volume',
  'what is the time',
  'read my agenda for tomorrow',
  'set a timer for five minutes',
  'how long is left on the timer',
  'cancel all timers',
  'tell me the time',
  'what is my next appointment',
] as const;
/** What it does not: talk, and near misses of what it does. */
export const STRANGE = [
  'purple elephants never dance on sunday',
  'the weather in paris is lovely this time of year',
  'please order three pizzas with extra cheese',
  'who won the football match last night',
  'play some music by the beatles',
  'my grandmother bakes the best apple pie',
  'turn on the lights in the kitchen',
  'what is the capital of australia',
  'add milk and bread to the shopping list',
  'i think we should leave before the rain starts',
  'tell me a joke about computers',
  'set the table for seven guests',
] as const;
const COLOURS: readonly Colour[] = ['white', 'pink', 'brown', 'hum'];
const LOG = join(import.meta.dirname, '../../../.device/bench/voice-turns.jsonl');

export interface Level {
  readonly said: readonly Said[];
  readonly strange: readonly Said[];
  /** CPU of the device from the first word to the last one, by command. */
  readonly cpuSeconds: number;
}

export interface Alarms {
  readonly turns: number;
  readonly minutes: number;
  readonly heard: readonly string[];
}

export interface Session {
  readonly levels: ReadonlyMap<string, Level>;
  readonly inNoise: Alarms;
  readonly inSpeech: Alarms;
}

let once: Promise<Session> | undefined;

/** Held once, whichever of the rows asks. Every turn of it is written down in .device/bench/voice-turns.jsonl. */
export function session(quick: boolean): Promise<Session> {
  once ??= hold(quick);
  return once;
}

/** Two devices at once are spoken to where it is about time, four where it is not. */
async function hold(quick: boolean): Promise<Session> {
  mkdirSync(join(LOG, '..'), { recursive: true });
  rmSync(LOG, { force: true });
  await using rooms = new AsyncDisposableStack();
  const four = await VoiceRoom.openSome(COLOURS.length, rooms);
  const seconds = quick ? 10 : 40;
  const talk = await speechWithoutPhrase(seconds);
  const inSpeech = await alarms(four, (index) => rotated(talk, index / four.length));
  const inNoise = await alarms(four, (index) => noise(COLOURS[index]!, seconds * 1_000, 1_000, index + 1));
  const levels = new Map<string, Level>();
  // Noise is over what is left of softer noise.
  for (const [name, around] of LEVELS) {
    await Promise.all(four.map((room) => room.settle(around)));
    const level = await speakIn(four, quick);
    levels.set(name, level);
    for (const one of [...level.said, ...level.strange])
      appendFileSync(LOG, `${JSON.stringify({ level: name, ...one })}\n`);
  }
  return { levels, inNoise, inSpeech };
}

async function speakIn(rooms: readonly VoiceRoom[], quick: boolean): Promise<Level> {
  const two = rooms.slice(0, VOICES.length);
  const cpu = () => two.reduce((sum, { pid }) => sum + wholeCpu(pid) / 1e6, 0);
  const before = cpu();
  const said = await commands(two, quick);
  const cpuSeconds = (cpu() - before) / said.length;
  const texts = quick ? STRANGE.slice(0, 4) : STRANGE;
  const tasks = VOICES.flatMap((voice) => texts.map((text) => ({ text, voice })));
  return { said, strange: await share(rooms, tasks), cpuSeconds };
}

/** One voice for each of the devices. */
export async function commands(rooms: readonly VoiceRoom[], quick: boolean): Promise<Said[]> {
  const texts = quick ? COMMANDS.slice(0, 4) : COMMANDS;
  const told = rooms.map((room, index) =>
    share(
      [room],
      texts.map((text) => ({ text, voice: VOICES[index]! })),
    ),
  );
  return (await Promise.all(told)).flat();
}

async function share(
  rooms: readonly VoiceRoom[],
  tasks: readonly { readonly text: string; readonly voice: Voice }[],
): Promise<Said[]> {
  const left = [...tasks];
  const said: Said[] = [];
  await Promise.all(
    rooms.map(async (room) => {
      for (let task = left.shift(); task; task = left.shift()) said.push(await room.tell(task.text, task.voice));
    }),
  );
  return said;
}

/** Turns that nobody asked for. */
async function alarms(rooms: readonly VoiceRoom[], sound: (index: number) => Int16Array): Promise<Alarms> {
  const sounds = rooms.map((_, index) => sound(index));
  const heard = await Promise.all(
    rooms.map(async (room, index) => {
      const before = new Set((await room.turns()).map(({ turn }) => turn));
      await room.play(sounds[index]!);
      await sleep(2_500);
      return (await room.turns()).filter(({ turn }) => !before.has(turn)).map(({ heard = '' }) => heard);
    }),
  );
  const samples = sounds.reduce((sum, { length }) => sum + length, 0);
  return { turns: heard.flat().length, minutes: samples / CAPTURE_RATE / 60, heard: heard.flat() };
}

/** Sentences with pauses, of all the voices. */
export async function speechWithoutPhrase(seconds: number): Promise<Int16Array> {
  const parts: Int16Array[] = [];
  let length = 0;
  for (let index = 0; length < seconds * CAPTURE_RATE; index++) {
    const sentences = [...STRANGE, ...COMMANDS];
    const voices: readonly Voice[] = [...VOICES, 'awb'];
    const sentence = leveled(await say(sentences[index % sentences.length]!, voices[index % voices.length]!));
    parts.push(sentence, silence(400));
    length += sentence.length + 0.4 * CAPTURE_RATE;
  }
  return concatenate(...parts).slice(0, seconds * CAPTURE_RATE);
}

function rotated(samples: Int16Array, share: number): Int16Array {
  const at = Math.floor(samples.length * share);
  return concatenate(samples.subarray(at), samples.subarray(0, at));
}
