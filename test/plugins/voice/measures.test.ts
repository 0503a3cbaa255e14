/** What the voice counts of its turns: times of stages and ends, and no word of what was said. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { Tracer } from '@device-core/plugin-api/tracing';
import { Measures } from '../../../plugins/voice/voice/measures.ts';
import { Traces } from '../../../plugins/voice/voice/traces.ts';

after(leakCheck());

test('a turn is counted once by its end, with the seconds of each stage and of the wait for its answer', async () => {
  const measures = new Measures();
  const traces = new Traces(4, new Tracer(virtualClock()), measures);
  traces.begin('t1', { source: 'wake', began: 1_000, now: 1_200, wakeword: 'hello device' });
  traces.span('t1', 'stt', 2_000, 2_300);
  traces.lastSpeech('t1', 2_000);
  traces.answered('t1', 2_800);
  traces.answered('t1', 9_000);
  traces.set('t1', { heard: 'private words', outcome: 'answered' });
  traces.set('t1', { outcome: 'cancelled' });
  traces.begin('t2', { source: 'button', began: 0, now: 0 });
  traces.set('t2', { outcome: 'failed', code: 'SPEECH_FAILED' });
  traces.span('gone', 'stt', 0, 1);
  const told = await measures.meter.collect();
  const points = (name: string) => told.find((one) => one.name === name)?.points;
  assert.deepEqual(points('device.voice.turns'), [
    { labels: { outcome: 'answered' }, value: 1 },
    { labels: { outcome: 'failed' }, value: 1 },
  ]);
  assert.deepEqual(
    points('device.voice.stage.duration')?.map(({ labels, value, count }) => [labels.stage, value, count]),
    [
      ['wake', 0.2, 1],
      ['stt', 0.3, 1],
    ],
  );
  assert.deepEqual(
    points('device.voice.latency')?.map(({ value, count }) => [value, count]),
    [[1, 1]],
  );
  assert.ok(!JSON.stringify(told).includes('private'));
});
