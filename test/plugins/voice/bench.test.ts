/** `devicectl voice bench`: figures of recordings that a device heard. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { encodeWav } from '@device-core/plugin-api/audio';
import { Failure } from '@device-core/plugin-api/program';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { program } from '../../../plugins/voice/voice/program/bench.ts';
import {
  figuresOf,
  meaningOf,
  percentile,
  rate,
  share,
  verdictOf,
} from '../../../plugins/voice/voice/program/figures.ts';
import { readFolder } from '../../../plugins/voice/voice/program/recordings.ts';
import { runs } from '../../fixtures/runs.ts';

after(leakCheck());

const rounded = (values: readonly number[]) => values.map((value) => Math.round(1_000 * value) / 1_000);
const OPTIONS = { phrase: 'hey computer', button: false, most: 100 };

async function folder(files: Readonly<Record<string, string | Buffer>>) {
  const path = await mkdtemp(join(tmpdir(), 'dc-bench-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

const wav = (seconds = 0.1) => Buffer.from(encodeWav({ rate: 16_000, samples: new Int16Array(16_000 * seconds) }));

suite('figures', () => {
  test('a share has the interval of Wilson', () => {
    for (const [count, of, low, high] of [
      [5, 10, 0.237, 0.763],
      [0, 50, 0, 0.071],
      [50, 50, 0.929, 1],
      [10, 100, 0.055, 0.174],
      [0, 0, 0, 1],
    ] as const) {
      const made = share(count, of);
      assert.deepEqual(rounded([made.low, made.high]), [low, high], `${count} of ${of}`);
    }
  });

  test('a rate has the interval of Byar', () => {
    assert.deepEqual(rounded([rate(0, 1).low, rate(0, 1).high]), [0, 3.668]);
    assert.deepEqual(rounded([rate(10, 2).low, rate(10, 2).high]), [2.394, 9.196]);
    assert.equal(rate(3, 0).high, Number.POSITIVE_INFINITY);
  });

  test('every interval holds its value, and more clips make it no wider', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.double({ min: 0, max: 1, noNaN: true }), (of, part) => {
        const count = Math.round(of * part);
        const [few, many] = [share(count, of), share(4 * count, 4 * of)];
        assert.ok(few.low <= few.share && few.share <= few.high);
        assert.ok(many.high - many.low <= few.high - few.low + 1e-9);
        const values = Array.from({ length: of }, (_, index) => (index * 7919) % of);
        const { ms, low, high } = percentile(values, part);
        assert.ok(low <= ms && ms <= high);
      }),
      { numRuns: runs(200) },
    );
  });

  test('a turn is right where the deed is the meaning, in other words, too', () => {
    const plan = { intent: 'a.b', title: 'x', slots: { two: 2, one: 1 }, text: 'x', mayGoOn: false };
    const turn = (facts: object) => ({ outcome: 'answered', ...facts }) as VoiceTurn;
    const meant = meaningOf({ intent: 'a.b', slots: { one: 1, two: 2 } });
    assert.equal(verdictOf(turn({ plan }), meant), 'right');
    assert.equal(verdictOf(turn({ plan: { ...plan, slots: {} } }), meant), 'wrong');
    assert.equal(verdictOf(turn({ plan, outcome: 'failed' }), meant), 'wrong');
    assert.equal(verdictOf(turn({ outcome: 'refused' }), meant), 'refused');
    assert.equal(verdictOf(undefined, meant), 'unheard');
    assert.equal(verdictOf(turn({ outcome: 'refused' }), null), 'right');
    assert.equal(verdictOf(turn({ plan }), null), 'wrong');
  });

  test('calls in sound without a phrase are false, and those of a button are no calls', () => {
    const one = { file: 'x', group: undefined, seconds: 1_800, turns: [{} as VoiceTurn], meant: undefined };
    const figures = figuresOf([
      { ...one, wake: 'none' },
      { ...one, wake: 'none', turns: [] },
      { ...one, wake: 'button' },
      { ...one, wake: 'hey computer' },
    ]);
    assert.deepEqual([figures.falseCalls.perHour, figures.missed.of, figures.missed.count], [1, 1, 0]);
  });
});

suite('a folder of recordings', () => {
  test('is read with a text beside each file', async () => {
    await using made = await folder({
      'a.wav': wav(),
      'a.txt': 'Hey computer, what time is it\n',
      'b.wav': wav(),
      'b.txt': '',
      'c.WAV': wav(),
      'c.txt': 'hey computer',
      'd.wav': wav(),
      'd.txt': 'hey computers are nice',
      'notes.md': 'x',
    });
    const found = await readFolder(made.path, OPTIONS);
    assert.deepEqual(
      found.map(({ file, wake, text }) => [file, wake, text]),
      [
        ['a.wav', 'hey computer', 'what time is it'],
        ['b.wav', 'none', undefined],
        ['c.WAV', 'hey computer', undefined],
        ['d.wav', 'none', undefined],
      ],
    );
    const pressed = await readFolder(made.path, { ...OPTIONS, button: true });
    assert.deepEqual([pressed[0]?.wake, pressed[1]?.wake], ['button', 'none']);
  });

  const labels = (files: unknown) => ({ 'labels.json': JSON.stringify({ files }) });
  for (const [title, files, message] of [
    ['without anything', {}, /it has neither labels\.json nor files that end with \.wav/],
    ['with a recording that has no text', { 'a.wav': wav() }, /a\.wav: its text is missing: a\.txt/],
    ['with labels that are no JSON', { 'labels.json': '{' }, /cannot read .*labels\.json/],
    ['with labels that are no table', labels([]), /"files" is no table/],
    ['with a label of another form', labels({ 'a.wav': 'x' }), /labels\.json: a\.wav has no label/],
    ['with a member that is none', labels({ 'a.wav': { wake: 'none', txt: 'x' } }), /a\.wav: txt is none of wake/],
    ['with slots and no intent', labels({ 'a.wav': { wake: 'none', slots: {} } }), /a\.wav: slots need an intent/],
    ['with a file outside of it', labels({ '../a.wav': { wake: 'none' } }), /\.\.\/a\.wav is not below the folder/],
    [
      'with more than are taken',
      labels(Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`${at}.wav`, { wake: 'none' }]))),
      /it has 101 recordings, at most 100 are taken/,
    ],
  ] as const)
    test(`is refused ${title}, and the file is named`, async () => {
      await using made = await folder(files);
      await assert.rejects(
        readFolder(made.path, OPTIONS),
        (error) => error instanceof Failure && message.test(error.message),
      );
    });
});

/** A device that makes of each sound what the test says, and is idle in between. */
function device(heard: readonly (readonly Partial<VoiceTurn>[])[], simulated = true) {
  const turns: Partial<VoiceTurn>[] = [];
  const lines: string[] = [];
  let at = 0;
  const client = {
    get: async (path: string) => ({
      body: path === '/voice' ? { state: 'idle', muted: false } : { turns: [...turns].reverse() },
    }),
    post: async (path: string) => {
      if (path === '/intents/match')
        return { body: { outcome: 'plan', plan: { intent: 'device.time', slots: {} } }, status: 200 };
      if (!simulated) return { status: 404, body: {} };
      for (const turn of heard[at] ?? []) turns.push({ turn: `t${turns.length}`, outcome: 'answered', ...turn });
      at++;
      return { body: { ms: 1 }, status: 200 };
    },
  };
  const out = {
    json: false,
    line: async (text: string) => void lines.push(text),
    table: async (_: unknown, rows: readonly (readonly unknown[])[]) =>
      void lines.push(...rows.map((row) => row.join(': '))),
  };
  const run = (folder: string, args: object = {}, json = false) =>
    program.run({
      args: { folder, phrase: 'hey computer', wake: true, files: 100, seconds: 60, ...args },
      client,
      out: { ...out, json },
      signal: new AbortController().signal,
    } as unknown as Parameters<typeof program.run>[0]);
  return { run, lines };
}

suite('devicectl voice bench', { concurrency: 4, timeout: 120_000 }, () => {
  const plan = { intent: 'device.time', title: 'x', slots: {}, text: 'x', mayGoOn: false };
  const three = labels3();

  test('prints the figures, and those of each group', async () => {
    await using made = await folder(three);
    const { run, lines } = device([[{ plan, latencyMs: 300 }], [], [{ plan }]]);
    await run(made.path);
    const text = lines.join('\n');
    assert.match(text, /1\/3 a\.wav: right as device\.time/);
    assert.match(text, /2\/3 b\.wav: missed/);
    assert.match(text, /3\/3 c\.wav: 1 false calls/);
    assert.match(text, /wake phrases missed: 50\.0 % \(9\.5 % to 90\.5 %\), 1 of 2/);
    assert.match(text, /commands right: 50\.0 %/);
    assert.match(text, /to the answer, p50: 300 ms/);
    assert.match(text, /^10 dB$/m);
  });

  test('prints all of it as one JSON', async () => {
    await using made = await folder(three);
    const { run, lines } = device([[{ plan }], [{ outcome: 'refused' }], []]);
    await run(made.path, {}, true);
    const told = JSON.parse(lines.join(''));
    assert.deepEqual([told.commands.right.count, told.commands.refused.count, told.falseCalls.count], [1, 1, 0]);
    assert.deepEqual(Object.keys(told.groups), ['10 dB']);
    assert.deepEqual(
      told.recordings.map(({ file }: { file: string }) => file),
      ['a.wav', 'b.wav', 'c.wav'],
    );
  });

  test('names the recording that is too much, or no WAV file', async () => {
    await using made = await folder({ ...three, 'b.wav': 'no sound' });
    await assert.rejects(device([]).run(made.path, { seconds: 0.05 }), /a\.wav: with it there are more than 0\.05 s/);
    await assert.rejects(device([]).run(made.path), /cannot read .*b\.wav/);
  });

  test('says that a device without a simulated microphone cannot be spoken to', async () => {
    await using made = await folder(three);
    await assert.rejects(device([], false).run(made.path), /it has no simulated microphone \(plugin audio-sim\)/);
  });
});

function labels3(): Readonly<Record<string, string | Buffer>> {
  const files = {
    'a.wav': { wake: 'hey computer', text: 'what time is it' },
    'b.wav': { wake: 'hey computer', text: 'what time is it', group: '10 dB' },
    'c.wav': { wake: 'none' },
  };
  return { 'labels.json': JSON.stringify({ files }), 'a.wav': wav(), 'b.wav': wav(), 'c.wav': wav() };
}
