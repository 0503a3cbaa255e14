/** A client that was written from the description of Wyoming speaks to the engines of a whole device. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
import { speech } from '@device-core/plugin-api/services/speech';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually as until } from '../fixtures/eventually.ts';
import { WITHOUT_PYTHON } from '../fixtures/python.ts';

const check = leakCheck();
const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const SCRIPT = join(import.meta.dirname, '../fixtures/wyoming_peer.py');
const PLUGINS = [
  ...['operations', 'identity', 'system', 'intent', 'audio-sim', 'audio'],
  ...['speech', 'soundswallower', 'tts-flite', 'wyoming'],
];

describe('the engines of a device over Wyoming', { skip: WITHOUT_PYTHON, timeout: 300_000 }, () => {
  let core: Core;
  before(async () => {
    const serve = { uri: 'tcp://127.0.0.1:0', phrases: ['hey computer'] };
    const plugins = Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0']));
    core = await startCore({ plugins, config: { wyoming: { serve, answerMs: 60_000, stallMs: 60_000 } } });
    const ready = async () =>
      new Set((await core.service(speech).list()).map(({ kind }) => kind)).size === 3 ? true : undefined;
    await until(ready, 'the engines');
  });
  after(async () => {
    await core?.stop();
    await check();
  });

  /** Where they are, as health says it. */
  async function port(): Promise<string> {
    const health = JSON.stringify(
      await core.service(operations).invoke(
        'system.health',
        {},
        {
          caller: OPERATOR,
          signal: AbortSignal.timeout(10_000),
          deadline: Date.now() + 10_000,
        },
      ),
    );
    const found = /our engines are at tcp:\/\/127\.0\.0\.1:(\d+)/.exec(health)?.[1];
    assert.ok(found, health);
    return found;
  }

  test('serve a client that shares no code with them: it is spoken to, heard and understood', async () => {
    const args = [SCRIPT, 'client', '127.0.0.1', await port()];
    const client = spawn('python3', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = new Promise<number | null>((resolve) => client.once('close', resolve));
    const [said, complaint] = await Promise.all([text(client.stdout), text(client.stderr)]);
    assert.equal(await ended, 0, complaint);
    const answers = said
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as [string, unknown]);
    const [info, pong, spoken, heard, woken, meant, nothing] = answers;
    assert.deepEqual(info, [
      'info',
      { asr: ['device-core'], tts: ['device-core'], wake: ['device-core'], intent: ['device-core'] },
    ]);
    assert.deepEqual(pong, ['pong', { text: 'hello' }]);
    const { seconds, loudest } = spoken![1] as { readonly seconds: number; readonly loudest: number };
    assert.ok(seconds > 0.5 && seconds < 3 && loudest > 3_000, JSON.stringify(spoken));
    assert.deepEqual(heard, ['transcript', 'what time is it']);
    assert.deepEqual(woken, ['detect', 'not-detected']);
    assert.deepEqual(meant, ['recognize', ['intent', 'device.volume-set', { percent: 10 }]]);
    assert.deepEqual(nothing, ['recognize', ['not-recognized', null, {}]]);
  });
});
