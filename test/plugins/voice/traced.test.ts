/** A turn is one trace, with a span for each of its stages. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Span, type Traces, traces } from '@device-core/plugin-api/tracing';
import { eventually } from '../../fixtures/eventually.ts';
import { start } from './started.ts';

after(leakCheck());

class Book implements Traces {
  readonly spans: Span[] = [];
  async record(spans: readonly Span[]): Promise<void> {
    this.spans.push(...spans);
  }
  async rules() {
    return { slowMs: {}, sample: 0 };
  }
}

describe('a turn', { timeout: 120_000 }, () => {
  it('that is spoken is a trace from the wake phrase to the first sound', async () => {
    const { host, sound, over } = await start();
    await using _host = host;
    const book = new Book();
    await host.appear(traces, book);
    sound.say('_ _ hey-computer next _ _ _ _ _ _');
    const [turn] = await over();
    const root = (await eventually(() => book.spans.find(({ name }) => name === 'voice.turn'), 'the turn'))!;
    assert.equal(root.traceId, turn!.trace);
    assert.equal(root.root, true);
    assert.equal(root.error, undefined);
    assert.equal(root.attributes?.turn, turn!.turn);
    assert.equal(root.attributes?.outcome, 'answered');
    const inner = book.spans.filter(({ name }) => name !== 'voice.turn');
    assert.deepEqual(inner.map(({ name }) => name).toSorted(), ['call', 'endpoint', 'intent', 'stt', 'tts', 'wake']);
    for (const span of inner) {
      assert.deepEqual([span.traceId, span.parent], [root.traceId, root.spanId], span.name);
      assert.ok(span.began >= root.began - 1 && span.began + span.ms <= root.began + root.ms + 1, span.name);
    }
    assert.ok(!JSON.stringify(book.spans).includes('unch'), 'neither what was heard nor what was said');
  });

  it('that failed says so, and one without a plugin of traces names none', async () => {
    const { host, service } = await start();
    await using _host = host;
    assert.equal((await service.ask('next')).trace, undefined);
    const book = new Book();
    await host.appear(traces, book);
    const failed = await service.ask('fail');
    assert.equal(failed.outcome, 'failed');
    const root = (await eventually(() => book.spans.find(({ name }) => name === 'voice.turn'), 'the turn'))!;
    assert.equal(root.error, 'UNAVAILABLE');
    assert.equal(root.traceId, failed.trace);
    await host.disappear(traces);
    assert.equal((await service.ask('next')).trace, undefined);
  });
});
