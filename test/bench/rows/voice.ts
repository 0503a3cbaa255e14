/**
 * Rows 14, 15, 17 and 28 to 30: the device as it is spoken to, in real time, in processes of its own. `npm run bench voice` runs them alone, which takes
 * eleven minutes; on a machine that is not alone the latencies are too long. Each figure stands for itself: there is no peer to compare with.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectApp } from '@device-core/plugin-api/app';
import {
  percentile,
  rate,
  rateText,
  share,
  shareText,
  verdictOf,
} from '../../../plugins/voice/voice/program/figures.ts';
import { noise } from '../../fixtures/speech.ts';
import { type Goal, type Measured, processMemory, quartiles, type Row, wholeCpu } from '../harness.ts';
import { throughCloud as viaCloud } from '../sku-data.ts';
import { type Said, VoiceRoom } from '../workloads/voice-room.ts';
import {
  type Alarms,
  COMMANDS,
  commands,
  LEVELS,
  type Level,
  session,
  speechWithoutPhrase,
  VOICES,
} from '../workloads/voice-session.ts';

const CLOUD_MS = 300;

const p95 = (values: readonly number[]): number => percentile(values, 0.95).ms;

const single = (value: number, ours?: string): Measured => ({
  q1: value,
  median: value,
  q3: value,
  ...(ours === undefined ? {} : { ours }),
});

/** The p95 is the figure, for that is the goal. */
function latency(said: readonly Said[], more = ''): Measured {
  const answered = said.filter(({ wakeMs, answerMs }) => wakeMs !== undefined && answerMs !== undefined);
  const both = answered.map(({ wakeMs, answerMs }) => wakeMs! + answerMs!);
  const { q1, median, q3 } = quartiles(both);
  const part = (pick: (one: Said) => number) => Math.round(quartiles(answered.map(pick)).median);
  const [a, b] = [part(({ wakeMs }) => wakeMs!), part(({ answerMs }) => answerMs!)];
  const { low, high } = percentile(both, 0.95);
  const range = `p95 within ${Math.round(low)} to ${Math.round(high)} ms`;
  const ours = `p50 ${Math.round(median)} ms (A ${a}, B ${b}), ${range}, of ${both.length} turns out of ${said.length}${more}`;
  return { q1, median: p95(both), q3, ours };
}

function percent(count: number, all: number, examples: readonly string[] = []): Measured {
  const made = share(count, all);
  return single(100 * made.share, [shareText(made), ...examples.slice(0, 4)].join(', '));
}

/** "Set the timer" is "set a timer": what counts is what is done. */
const understood = ({ turn, meant }: Said) => meant !== undefined && verdictOf(turn, meant) === 'right';

async function byLevel(quick: boolean, measure: (level: Level) => Measured): Promise<Record<string, Measured>> {
  const { levels } = await session(quick);
  return Object.fromEntries([...levels].map(([name, level]) => [name, measure(level)]));
}

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
  const sku = viaCloud(stub.port);
  try {
    await using rooms = new AsyncDisposableStack();
    const two = await VoiceRoom.openSome(VOICES.length, rooms, sku);
    const said = await commands(two, quick);
    const sent = said.filter(({ turn }) => turn?.stage === 'cloud').length;
    return latency(said, `, ${sent} by the cloud`);
  } finally {
    stub.close();
  }
}

/** Percent of one core of the whole process while the room sounds like this. */
async function cpuShare(room: VoiceRoom, seconds: number, sound: Int16Array | undefined): Promise<Measured> {
  const playing = sound ? room.play(sound) : undefined;
  await sleep(sound ? 8_000 : 1_000);
  const from = performance.now();
  const before = wholeCpu(room.pid);
  await sleep(seconds * 1_000);
  const cpuMs = (wholeCpu(room.pid) - before) / 1_000;
  const ms = performance.now() - from;
  await playing;
  return single((100 * cpuMs) / ms, `${Math.round(cpuMs)} ms of CPU in ${(ms / 1_000).toFixed(1)} s`);
}

async function idle({ quick }: { readonly quick: boolean }): Promise<Record<string, Measured>> {
  const seconds = quick ? 6 : 12;
  const whole = seconds + 9;
  await using room = await VoiceRoom.open();
  await sleep(3_000);
  const quiet = await cpuShare(room, seconds, undefined);
  await room.mute(true);
  const muted = await cpuShare(room, seconds, undefined);
  await room.mute(false);
  const memory = processMemory(room.pid) / 2 ** 20;
  const loud = await cpuShare(room, seconds, noise('pink', whole * 1_000, 600));
  const talking = await cpuShare(room, seconds, await speechWithoutPhrase(whole));
  const after = processMemory(room.pid) / 2 ** 20;
  return {
    'quiet room': quiet,
    'of that, listening': single(quiet.median - muted.median, `${muted.median.toFixed(2)} % while it is muted`),
    noise: loud,
    'speech without the phrase': talking,
    'memory, quiet': single(memory),
    'memory, after speech': single(after),
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
  for (let round = 0; round < (quick ? 2 : 4); round++) {
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
  const tell = (times: readonly number[]) =>
    `p50 ${quartiles(times).median.toFixed(2)}, p95 ${p95(times).toFixed(2)} ms`;
  return { ...quartiles(ratios), ours: `${tell(beside)} in a turn`, theirs: `${tell(alone)} idle` };
}

function hourly({ turns, minutes, heard }: Alarms): Measured {
  const texts = heard.filter((text) => text !== '').map((text) => `"${text}"`);
  const made = rate(turns, minutes / 60);
  return single(made.perHour, [rateText(made), ...texts.slice(0, 3)].join(', '));
}

const levels = (goal: number | readonly number[], unit: string): readonly Goal[] =>
  LEVELS.map(([name], index) => ({ name, goal: typeof goal === 'number' ? goal : goal[index]!, unit }));

export const rows: readonly Row[] = [
  {
    id: 14,
    title: 'Voice: CPU of the whole simulated device, percent of one core',
    goals: [
      { name: 'quiet room', goal: 2.5, unit: '%' },
      { name: 'of that, listening', goal: 2, unit: '%' },
      { name: 'noise', goal: 5, unit: '%' },
      { name: 'speech without the phrase', goal: 25, unit: '%' },
      { name: 'memory, quiet', goal: 400, unit: 'MiB' },
      { name: 'memory, after speech', goal: 450, unit: 'MiB' },
    ],
    run: idle,
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
      const local = await byLevel(quick, ({ said, cpuSeconds }) =>
        latency(said, `, ${cpuSeconds.toFixed(2)} s of CPU each`),
      );
      return { ...local, cloud: await throughCloud(quick) };
    },
  },
  {
    id: 28,
    title: 'Voice: commands that were not done as said, percent',
    goals: levels([5, 10, 25, 60], '%'),
    run: ({ quick }) =>
      byLevel(quick, ({ said }) => {
        const wrong = said.filter((one) => !understood(one));
        const examples = wrong.map(({ text, turn }) => `"${text}" ${turn ? `as "${turn.heard ?? ''}"` : 'unheard'}`);
        return percent(wrong.length, said.length, examples);
      }),
  },
  {
    id: 29,
    title: 'Voice: speech outside the grammar that was done all the same, percent',
    goals: levels(5, '%'),
    run: ({ quick }) =>
      byLevel(quick, ({ strange }) => {
        const heard = strange.filter(({ turn }) => turn);
        const done = heard.filter(({ turn }) => turn!.outcome === 'answered');
        const examples = done.map(({ text, turn }) => `"${text}" as "${turn!.heard}"`);
        return percent(done.length, heard.length, examples);
      }),
  },
  {
    id: 30,
    title: 'Voice: wake phrases missed, percent, and false alarms an hour',
    goals: [
      ...LEVELS.map(([name], index) => ({ name: `missed, ${name}`, goal: [5, 5, 10, 50][index]!, unit: '%' })),
      { name: 'false alarms in noise', goal: 1, unit: '/h' },
      { name: 'false alarms in speech', goal: 20, unit: '/h' },
    ],
    async run({ quick }) {
      const { levels: all, inNoise, inSpeech } = await session(quick);
      const missed = [...all].map(([name, { said, strange }]) => {
        const told = [...said, ...strange];
        return [`missed, ${name}`, percent(told.filter(({ turn }) => !turn).length, told.length)] as const;
      });
      return {
        ...Object.fromEntries(missed),
        'false alarms in noise': hourly(inNoise),
        'false alarms in speech': hourly(inSpeech),
      };
    },
  },
];
