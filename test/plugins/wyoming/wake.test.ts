import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pace } from '../../fixtures/eventually.ts';
import { Service } from './service.ts';
import { all, answering, eventually, failure, frames, NEVER, type Started, withEngine } from './start.ts';

after(leakCheck());

describe('external wake engines', { timeout: 300_000 }, () => {
  const PHRASES = [{ phrase: 'hey jarvis' }];
  const detect = (started: Started, count: number, options: object = {}, each?: () => Promise<void>) =>
    all(
      started.registry.find('wake').engine.detect(frames(count, each), { phrases: PHRASES, signal: NEVER, ...options }),
    );

  it('tell a phrase and when it ended', async () => {
    await using service = await Service.start();
    service.manner = (peer, { type, data }) => {
      if (type === 'audio-chunk' && data.timestamp === 60)
        peer.tell('detection', { name: 'hey_jarvis_v0.1', timestamp: 40 });
      if (type === 'audio-chunk' && data.timestamp === 80) peer.tell('detection', { name: 'another', timestamp: 60 });
    };
    await using started = await withEngine('wake', service);
    assert.deepEqual(await detect(started, 10), [{ phrase: 'hey jarvis', score: 1, at: 1_040 }]);
    assert.deepEqual(service.heardOf('detect')[0]?.data, { names: ['hey_jarvis_v0.1'] });
  });

  it('end without a phrase', async () => {
    await using service = await Service.start();
    service.manner = answering(['not-detected']);
    await using started = await withEngine('wake', service);
    assert.deepEqual(await detect(started, 3), []);
  });

  it('are called again where they hang up after a phrase, and fail where they hang up before', async () => {
    await using service = await Service.start();
    service.manner = (peer, { type, data }) => {
      if (type === 'audio-chunk' && data.timestamp === 40) {
        peer.tell('detection', { timestamp: null });
        peer.socket.end();
      }
    };
    await using started = await withEngine('wake', service);
    const hits = await detect(started, 12, {}, () => pace(20));
    assert.ok(hits.length >= 2, `${hits.length} hits`);
    assert.ok(hits.every(({ phrase }) => phrase === 'hey jarvis'));
    service.manner = (peer, { type }) => void (type === 'audio-chunk' && peer.socket.end());
    assert.equal((await failure(detect(started, 12, {}, () => pace(20)))).code, 'SPEECH_FAILED');
  });

  it('say which phrases they have no model of, such as stop words', async () => {
    await using service = await Service.start();
    await using started = await withEngine('wake', service, { phrases: { 'Good morning': 'gm_2' } });
    const { engine } = started.registry.find('wake');
    assert.deepEqual(await engine.unspeakable?.(['hey jarvis', 'good morning', 'stop', 'be quiet']), [
      'stop',
      'be quiet',
    ]);
  });

  it('know the phrases of the configuration, and no others', async () => {
    await using service = await Service.start();
    service.manner = answering(['not-detected']);
    await using started = await withEngine('wake', service, { phrases: { 'Good morning': 'gm_2' } });
    await detect(started, 1, { phrases: [{ phrase: 'good morning' }] });
    assert.deepEqual(service.heardOf('detect')[0]?.data, { names: ['gm_2'] });
    assert.equal((await failure(detect(started, 1, { phrases: [{ phrase: 'open sesame' }] }))).code, 'PARAMS_INVALID');
  });

  it('stop when the caller leaves, though the microphone is muted', async () => {
    await using service = await Service.start();
    await using started = await withEngine('wake', service);
    const stop = new AbortController();
    const { engine } = started.registry.find('wake');
    async function* muted() {
      yield* frames(2);
      await new Promise(() => undefined);
    }
    const hits = all(engine.detect(muted(), { phrases: PHRASES, signal: stop.signal }));
    await eventually('the sound', () => service.heardOf('audio-chunk').length === 2);
    stop.abort();
    assert.equal((await failure(hits)).code, 'CANCELLED');
  });
});
