/** Rows 14, 15, 17 and 28 to 30: the device as it is spoken to, in real time, in a process of its own. `npm run bench voice` runs them alone. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CAPTURE_RATE } from '@device-core/plugin-api';
import { connectApp } from '@device-core/plugin-api/app';
import { join as concatenate, noise, say, silence } from '../../fixtures/speech.ts';
import { type Goal, type Measured, processCpu, processMemory, quartiles, type Row } from '../harness.ts';
import { COMMANDS, type Noise, type Said, STRANGE, VOICES, VoiceRoom } from '../workloads/voice-room.ts';

const LEVELS: readonly (readonly [name: string, noise: Noise | undefined])[] = [
  ['clean', undefined],
  ['20 dB', { colour: 'pink', snr: 20 }],
  ['10 dB', { colour: 'pink', snr: 10 }],
];
const CLOUD_MS = 300;

interface Session {
  readonly said: readonly (Said & { readonly text: string })[];
  readonly strange: readonly Said[];
}

/** Measured once, whichever of the rows asks. */
let sessions: Promise<ReadonlyMap<string, Session>> | undefined;

function session(quick: boolean): Promise<ReadonlyMap<string, Session>> {
  sessions ??= talk(quick);
  return sessions;
}

async function talk(quick: boolean): Promise<ReadonlyMap<string, Session>> {
  const results = new Map<string, Session>();
  await using room = await VoiceRoom.open();
  for (const [name, around] of LEVELS) {
    const said: (Said & { text: string })[] = [];
    const strange: Said[] = [];
    for (const voice of VOICES) {
      for (const command of quick ? COMMANDS.slice(0, 3) : COMMANDS)
        said.push({ text: command, ...(await room.tell(command, voice, around)) });
      for (const sentence of quick ? STRANGE.slice(0, 3) : STRANGE)
        strange.push(await room.tell(sentence, voice, around));
    }
    results.set(name, { said, strange });
  }
  return results;
}

const p95 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? Number.NaN;

/** The p95 is the figure, for that is the goal. */
function latency(said: readonly Said[]): Measured {
  const both = said.flatMap(({ wakeMs, answerMs }) =>
    wakeMs === undefined || answerMs === undefined ? [] : [wakeMs + answerMs],
  );
  const { q1, median, q3 } = quartiles(both);
  return {
    q1,
    median: p95(both),
    q3,
    ours: `p50 ${Math.round(median)} ms of ${both.length} turns out of ${said.length}`,
  };
}

function percent(count: number, all: number, ours?: string): Measured {
  const value = all === 0 ? Number.NaN : (100 * count) / all;
  return { q1: value, median: value, q3: value, ours: ours ?? `${count} of ${all}` };
}

const understood = ({ turn, text }: Said & { readonly text: string }) =>
  turn?.outcome === 'answered' && turn.heard === text;

/** A stub of a cloud that takes as long as one: whatever was said, it is a question for the time. */
async function cloud(): Promise<{ readonly port: number; close(): void }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      setTimeout(() => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ text: 'What time is it?' }));
      }, CLOUD_MS);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

async function throughCloud(quick: boolean): Promise<Measured> {
  const stub = await cloud();
  const change = (sku: string) =>
    sku
      .replace(/^ {2}voice:.*$/m, '  voice: { version: ^1.0.0, config: { router: { local: false } } }')
      .replace(
        /^grants:/m,
        `  stt-cloud: { version: ^1.0.0, config: { endpoint: "http://127.0.0.1:${stub.port}/v1" } }\ngrants:`,
      );
  try {
    await using room = await VoiceRoom.open(change);
    const said: Said[] = [];
    for (const voice of VOICES)
      for (const command of quick ? COMMANDS.slice(0, 3) : COMMANDS) said.push(await room.tell(command, voice));
    return latency(said);
  } finally {
    stub.close();
  }
}

/** Share of one core, percent, of the whole process while the room sounds like this. */
async function idle(room: VoiceRoom, seconds: number, sound: Int16Array | undefined): Promise<number> {
  await sleep(1_000);
  const playing = sound ? room.play(sound) : undefined;
  await sleep(500);
  const from = performance.now();
  const before = processCpu(room.pid);
  await sleep(seconds * 1_000);
  const share = (processCpu(room.pid) - before) / 10 / (performance.now() - from);
  await playing;
  return share;
}

async function speechWithoutPhrase(seconds: number): Promise<Int16Array> {
  const parts: Int16Array[] = [];
  let length = 0;
  for (let n = 0; length < seconds * CAPTURE_RATE; n++) {
    const sentence = await say(STRANGE[n % STRANGE.length]!, VOICES[n % VOICES.length]!);
    parts.push(sentence, silence(400));
    length += sentence.length + 0.4 * CAPTURE_RATE;
  }
  return concatenate(...parts);
}

const single = (value: number, ours?: string): Measured => ({
  q1: value,
  median: value,
  q3: value,
  ...(ours === undefined ? {} : { ours }),
});

async function idleRow(quick: boolean): Promise<Record<string, Measured>> {
  const seconds = quick ? 6 : 25;
  await using room = await VoiceRoom.open();
  await sleep(3_000);
  const rest = await idle(room, seconds, undefined);
  const loud = await idle(room, seconds, noise('pink', (seconds + 3) * 1_000, 600));
  const talking = await idle(room, seconds, await speechWithoutPhrase(seconds + 3));
  const memory = processMemory(room.pid) / 2 ** 20;
  return {
    'quiet room': single(rest, `${Math.round(memory)} MiB resident`),
    noise: single(loud),
    'speech without the phrase': single(talking),
  };
}

/** Percent of wake phrases missed, and turns per hour that nobody asked for. */
async function wakes(quick: boolean): Promise<Record<string, Measured>> {
  const all = [...(await session(quick)).values()].flatMap(({ said, strange }) => [...said, ...strange]);
  const missed = all.filter(({ turn }) => !turn).length;
  const seconds = quick ? 20 : 50;
  await using room = await VoiceRoom.open();
  const falseAlarms = async (sound: (seed: number) => Promise<Int16Array>, times: number): Promise<Measured> => {
    const before = (await room.turns()).length;
    for (let time = 0; time < times; time++) await room.play(await sound(time + 1));
    await sleep(2_000);
    const turns = (await room.turns()).length - before;
    const minutes = (times * seconds) / 60;
    return single((60 * turns) / minutes, `${turns} in ${minutes.toFixed(1)} min`);
  };
  const colours = ['white', 'pink', 'brown', 'hum'] as const;
  return {
    'missed phrases': percent(missed, all.length),
    'false alarms in noise': await falseAlarms(
      async (seed) => noise(colours[seed % 4]!, seconds * 1_000, 1_000, seed),
      quick ? 1 : 4,
    ),
    'false alarms in speech': await falseAlarms(() => speechWithoutPhrase(seconds), quick ? 1 : 4),
  };
}

/** Round trips on an app's socket while a turn runs, against those of a device that waits: p95. */
async function besideTurns(quick: boolean): Promise<Measured> {
  await using room = await VoiceRoom.open();
  const rpcSocket = join(room.run, 'apps/agenda/rpc.sock');
  const app = await connectApp({ appId: 'com.example.agenda', rpcSocket });
  const pings = async (until: () => boolean): Promise<number[]> => {
    const times: number[] = [];
    while (!until()) {
      const from = performance.now();
      await app.call('system.ping', {});
      times.push(performance.now() - from);
      await sleep(2);
    }
    return times;
  };
  const ratios: number[] = [];
  const [alone, beside]: [number[], number[]] = [[], []];
  for (let round = 0; round < (quick ? 2 : 6); round++) {
    const end = performance.now() + 4_000;
    const rest = await pings(() => performance.now() > end);
    let over = false;
    const turn = room.tell(COMMANDS[round % COMMANDS.length]!, VOICES[round % 2]!).finally(() => {
      over = true;
    });
    const busy = await pings(() => over);
    await turn;
    ratios.push(p95(busy) / p95(rest));
    alone.push(...rest);
    beside.push(...busy);
  }
  app.close();
  return {
    ...quartiles(ratios),
    ours: `p95 ${p95(beside).toFixed(2)} ms in a turn`,
    theirs: `${p95(alone).toFixed(2)} ms idle`,
  };
}

const levels = (goal: number | readonly number[], unit: string): readonly Goal[] =>
  LEVELS.map(([name], index) => ({ name, goal: typeof goal === 'number' ? goal : goal[index]!, unit }));

export const rows: readonly Row[] = [
  {
    id: 14,
    title: 'Voice: CPU of the whole simulated device, percent of one core',
    goals: [
      { name: 'quiet room', goal: 2.5, unit: '%' },
      { name: 'noise', goal: 5, unit: '%' },
      { name: 'speech without the phrase', goal: 25, unit: '%' },
    ],
    run: ({ quick }) => idleRow(quick),
  },
  {
    id: 15,
    title: 'Voice: round trip on an app socket while a turn runs, against idle (p95)',
    goals: [{ name: 'idle', goal: 1.5, floor: 1 }],
    run: async ({ quick }) => ({ idle: await besideTurns(quick) }),
  },
  {
    id: 17,
    title: `Voice: from wake phrase to speech, p95 (A + B of design/voice.md); cloud with a stub of ${CLOUD_MS} ms`,
    goals: [...levels(500, 'ms'), { name: 'cloud', goal: 1500, unit: 'ms' }],
    async run({ quick }) {
      const said = await session(quick);
      const local = Object.fromEntries([...said].map(([name, one]) => [name, latency(one.said)]));
      return { ...local, cloud: await throughCloud(quick) };
    },
  },
  {
    id: 28,
    title: 'Voice: commands that were not done as said, percent',
    goals: levels([5, 10, 25], '%'),
    async run({ quick }) {
      const said = await session(quick);
      return Object.fromEntries(
        [...said].map(([name, one]) => {
          const wrong = one.said.filter((turn) => !understood(turn));
          const examples = wrong.slice(0, 3).map(({ text, turn }) => `"${text}" as "${turn?.heard ?? '-'}"`);
          return [
            name,
            percent(wrong.length, one.said.length, [`${wrong.length} of ${one.said.length}`, ...examples].join(', ')),
          ];
        }),
      );
    },
  },
  {
    id: 29,
    title: 'Voice: speech outside the grammar that was done all the same, percent',
    goals: levels(5, '%'),
    async run({ quick }) {
      const said = await session(quick);
      return Object.fromEntries(
        [...said].map(([name, { strange }]) => {
          const heard = strange.filter(({ turn }) => turn);
          const done = heard.filter(({ turn }) => turn!.outcome === 'answered');
          const examples = done.slice(0, 3).map(({ turn }) => `"${turn!.heard}"`);
          return [
            name,
            percent(done.length, heard.length, [`${done.length} of ${heard.length}`, ...examples].join(', ')),
          ];
        }),
      );
    },
  },
  {
    id: 30,
    title: 'Voice: wake phrases missed, percent, and false alarms an hour',
    goals: [
      { name: 'missed phrases', goal: 5, unit: '%' },
      { name: 'false alarms in noise', goal: 1, unit: '/h' },
      { name: 'false alarms in speech', goal: 20, unit: '/h' },
    ],
    run: ({ quick }) => wakes(quick),
  },
];
