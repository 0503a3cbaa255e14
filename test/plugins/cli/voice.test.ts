import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { FakeCore } from './fake-core.ts';
import { devicectl } from './run-devicectl.ts';

const TURN = {
  turn: 't2',
  at: 1_700_000_000_000,
  source: 'wake',
  wakeword: 'hey computer',
  heard: 'what is next',
  stage: 'local',
  engine: 'soundswallower',
  plan: { intent: 'com.example.agenda.next', title: 'x', slots: { day: 'today' }, text: 'x', mayGoOn: false },
  said: 'Lunch\u001b[31m.',
  outcome: 'answered',
  spans: [{ name: 'stt', from: 3, to: 12.5, note: 'cloud for unsure' }],
  latencyMs: 402.5,
};
const { plan: _, ...REST } = TURN;
const REFUSED = {
  ...REST,
  turn: 't1',
  heard: '',
  nearest: 'what is text',
  confidence: 0.384,
  unsure: 'text',
  close: 'what is next week',
  outcome: 'refused',
};

describe('devicectl voice', () => {
  let core: FakeCore;
  let at: readonly string[];
  before(async () => {
    core = await FakeCore.start({
      'GET /voice': { ok: true, state: 'listening', muted: false },
      'POST /voice/say': { ok: true },
      'POST /speech/synthesize': { ok: true, wav: 'UklGRg==', ms: 1_940 },
      'GET /audio/heard': { ok: true, wav: 'UklGRg==', ms: 600, at: 0, playing: false, count: 1 },
      'POST /voice/ask': { ok: true, ...TURN },
      'POST /voice/listen': { ok: true, ...TURN },
      'GET /voice/turns': { ok: true, turns: [TURN, REFUSED] },
      'POST /audio/inject': { ok: true, ms: 1, from: 0, to: 1 },
    });
    at = ['--run', core.root];
    await writeFile(join(core.root, 'said.wav'), 'RIFF');
  });
  after(() => core[Symbol.asyncDispose]());

  const prints = async (args: readonly string[], ...lines: readonly RegExp[]) => {
    const ended = await devicectl([...args, ...at]);
    assert.equal(ended.stderr, '');
    for (const line of lines) assert.match(ended.stdout, line);
  };
  const HEARD = /^heard {4}what is next {2}\(soundswallower, local\)$/m;
  const PLAN = /^plan {5}com\.example\.agenda\.next day=today$/m;

  test('speaks', async () => {
    await prints(['voice', 'say', 'Hello.', '--voice', 'slt'], /^said$/m);
    assert.deepEqual(core.seen.at(-1)?.body, { text: 'Hello.', voice: 'slt' });
  });

  test('speaks into a file, and keeps what the speaker played', async () => {
    const [said, heard] = [join(core.root, 'out.wav'), join(core.root, 'heard.wav')];
    await prints(['voice', 'say', 'Hello.', '--out', said], /out\.wav: 1\.9 s$/m);
    assert.deepEqual(core.seen.at(-1)?.body, { text: 'Hello.' });
    assert.equal(await readFile(said, 'latin1'), 'RIFF');
    await prints(['voice', 'heard', heard, '--json'], /^\{"ok":true,"file":".*heard\.wav","ms":600\}$/m);
    assert.equal(await readFile(heard, 'latin1'), 'RIFF');
    const { code, stderr } = await devicectl(['voice', 'heard', '/no/such/folder/x.wav', ...at]);
    assert.equal(code, 2);
    assert.match(stderr, /cannot write \/no\/such\/folder\/x\.wav: ENOENT/);
  });

  test('asks, and tells what was understood and said', () =>
    prints(['voice', 'ask', 'what is next'], HEARD, PLAN, /^said {5}Lunch\\x1b\[31m\.$/m, /^outcome {2}answered$/m));

  test('listens to who speaks', () => prints(['voice', 'listen'], HEARD));

  test('lets the microphone hear a file without a wake phrase', async () => {
    // The turn is over when the file has been heard.
    const respond = core.replies['POST /audio/inject'] as object;
    let listening: ServerResponse | undefined;
    core.replies['POST /voice/listen'] = (response: ServerResponse) => {
      listening = response;
    };
    core.replies['POST /audio/inject'] = (response: ServerResponse) => {
      response.end(JSON.stringify(respond));
      listening?.end(JSON.stringify({ ok: true, ...TURN }));
    };
    await prints(['voice', 'listen', '--no-wake', join(core.root, 'said.wav')], HEARD);
    assert.ok(core.seen.some(({ body }) => (body as { wav?: string })?.wav === 'UklGRg=='));
    core.replies['POST /audio/inject'] = respond;
  });

  test('waits for the turn that the wake phrase of a file begins', async () => {
    const before = { ...TURN, turn: 't1', heard: 'something else' };
    const running = { ...TURN, outcome: 'running' };
    const answers = [[before], [before], [running, before], [TURN, before]];
    core.replies['GET /voice/turns'] = (response: ServerResponse) => {
      response.end(JSON.stringify({ ok: true, turns: answers.length > 1 ? answers.shift() : answers[0] }));
    };
    await prints(['voice', 'listen', join(core.root, 'said.wav')], HEARD, PLAN);
    core.replies['GET /voice/turns'] = { ok: true, turns: [TURN, REFUSED] };
  });

  test('tells where the time of a turn went', () =>
    prints(
      ['voice', 'trace'],
      /wake, 402\.5 ms to the answer {2}t2$/m,
      /^ {2}stt {12}3\.0 \.\. {6}12\.5 {2}cloud for unsure$/m,
      /^ {2}heard {4}nothing that is known\n {2}nearest {2}what is text\n {2}sure {5}38 %, least of "text"\n {2}close {4}what is next week$/m,
    ));
});
