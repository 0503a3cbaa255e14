/**
 * Our clients and a server that was written from the description of the protocol, in another language.
 * Costs processes: a server in another language beside a Core.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { type IntentInterpreter, type Intents, intents } from '@device-core/plugin-api/services/intents';
import { given, leakCheck } from '@device-core/plugin-api/testing';
import { EngineRegistry } from '../../fixtures/engine-registry.ts';
import { WITHOUT_PYTHON } from '../../fixtures/python.ts';
import { all, eventually, frames, NEVER, start } from './start.ts';

after(leakCheck());

const SCRIPT = join(import.meta.dirname, '../../fixtures/wyoming_peer.py');

describe('a server from the description of the protocol', { skip: WITHOUT_PYTHON, timeout: 300_000 }, () => {
  let script: ChildProcess;
  let uri: string;
  before(async () => {
    script = spawn('python3', [SCRIPT, 'server'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface({ input: script.stdout! });
    const [port] = await once(lines, 'line');
    lines.close();
    uri = `tcp://127.0.0.1:${port}`;
  });
  after(async () => {
    const closed = once(script, 'close');
    script.kill();
    await closed;
  });

  it('is an engine of every kind', async () => {
    const registry = new EngineRegistry();
    let interpreter: IntentInterpreter | undefined;
    const known: Partial<Intents> = {
      addInterpreter: (_, one) => {
        interpreter = one;
        return { [Symbol.asyncDispose]: async () => undefined };
      },
    };
    const engines = [
      ...(['stt', 'tts', 'wake'] as const).map((kind) => ({ kind, id: 'script', uri })),
      { kind: 'intent', id: 'script', uri, intents: { SetVolume: 'device.volume' } },
    ];
    const patient = { connectMs: 10_000, answerMs: 20_000, stallMs: 20_000 };
    await using _ = await start({ engines, ...patient }, [registry.service, given(intents, known)]);
    await eventually('them all', () => registry.rows.length === 3 && interpreter !== undefined);

    const options = { language: 'en', signal: NEVER };
    const transcript = await registry.find('stt').engine.transcribe(frames(40), options);
    assert.deepEqual(transcript, { text: 'loud 40', language: 'en' });

    const chunks = await all(registry.find('tts').engine.speak('Hello, you.', { language: 'en' }));
    assert.ok(chunks.every(({ rate }) => rate === 16_000));
    assert.equal(chunks.flatMap(({ samples }) => [...samples]).length, 1_100);

    const detect = (count: number) => {
      const phrases = [{ phrase: 'hey computer' }];
      return all(registry.find('wake').engine.detect(frames(count), { phrases, signal: NEVER }));
    };
    assert.deepEqual(await detect(40), []);
    // The frame with number 1001 is the first that is loud.
    assert.deepEqual(await detect(1_040), [{ phrase: 'hey computer', score: 1, at: 1_000 + 1_000 * 20 }]);

    const meant = { intent: 'device.volume', slots: { level: 30 } };
    assert.deepEqual(await interpreter!.interpret('volume 30', options), meant);
    assert.equal(await interpreter!.interpret('volume', options), undefined);
  });
});
