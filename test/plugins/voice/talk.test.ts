/** Push to talk: the sound of a client is a turn, whatever the microphone hears meanwhile. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { bytesOfSamples } from '@device-core/plugin-api/audio';
import { FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import type { StreamChannel } from '@device-core/plugin-api/services/operations';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { start } from './started.ts';

after(leakCheck());

type Started = Awaited<ReturnType<typeof start>>;

/** A client with a button. */
class Client {
  readonly told: Record<string, unknown>[] = [];
  readonly #started: Started;
  readonly #over = new AbortController();
  readonly #chunks: Uint8Array[] = [];
  #wake = Promise.withResolvers<void>();
  read = 0;

  constructor(started: Started) {
    this.#started = started;
  }

  async press(): Promise<{ readonly done: Promise<void> }> {
    const channel: StreamChannel = {
      id: '1',
      signal: this.#over.signal,
      incoming: this.#incoming(),
      send: async (chunk) => {
        if (this.#over.signal.aborted) throw new CoreError('CANCELLED', { what: 'a stream', reason: 'it is over' });
        this.told.push(JSON.parse(Buffer.from(chunk).toString()));
      },
    };
    const { done } = await this.#started.table.openStream('voice.talk', {}, channel);
    done.catch(() => undefined);
    return { done };
  }

  /** Words as the fake engines hear them, `_` is silence; six frames each, cut where no frame ends. */
  say(text: string): void {
    const words = this.#started.sound.words;
    const frames = text.split(' ').flatMap((word) => {
      const value = words.number(word === '_' ? '' : word.replaceAll('-', ' '));
      return Array.from({ length: 6 }, () => new Int16Array(FRAME_SAMPLES).fill(value));
    });
    const bytes = Buffer.concat(frames.map((frame) => bytesOfSamples(frame)));
    for (let at = 0; at < bytes.length; at += 1_001) this.#add(bytes.subarray(at, at + 1_001));
  }

  release(): void {
    this.#add(new Uint8Array());
  }

  leave(): void {
    this.#over.abort(new CoreError('CANCELLED', { what: 'a stream', reason: 'the page closed it' }));
    this.#wake.resolve();
  }

  get turn(): VoiceTurn {
    return this.told.at(-1) as unknown as VoiceTurn;
  }

  #add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#wake.resolve();
  }

  async *#incoming(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.read++;
        yield chunk;
      } else if (this.#over.signal.aborted) return;
      else {
        this.#wake = Promise.withResolvers();
        await this.#wake.promise;
      }
    }
  }
}

describe('a person who talks through a client', () => {
  it('is understood and answered, and hears of the turn when it begins and when it is over', async () => {
    const started = await start();
    const client = new Client(started);
    const { done } = await client.press();
    client.say('_ next _');
    client.release();
    await done;
    const { turn, heard, said, outcome, source, spans } = client.turn;
    assert.deepEqual(
      { heard, said, outcome, source },
      { heard: 'next', said: 'Lunch at noon.', outcome: 'answered', source: 'button' },
    );
    assert.deepEqual(client.told[0], { turn });
    assert.deepEqual(
      spans.map(({ name }) => name),
      ['endpoint', 'stt', 'intent', 'call', 'tts'],
    );
    assert.deepEqual(started.sound.played, ['Lunch at noon.']);
    await started.host.stop();
  });

  it('decides by letting the button go when it was all: silence before is none of an end', async () => {
    const started = await start();
    const client = new Client(started);
    const { done } = await client.press();
    client.say('_ next _ _ _ _ _ _ _ week');
    client.release();
    await done;
    assert.equal(client.turn.heard, 'next week');
    await started.host.stop();
  });

  it('is heard alone: sound of the microphone meanwhile is not in the command, and starts no turn', async () => {
    const started = await start();
    const client = new Client(started);
    const { done } = await client.press();
    const before = started.sound.captured;
    started.sound.say('hey-computer quiet');
    client.say('_ next _');
    client.release();
    await done;
    assert.equal(client.turn.heard, 'next');
    assert.deepEqual((await started.turns()).filter(({ wakeword }) => wakeword).length <= 1, true);
    // The microphone is heard again.
    await eventually(() => started.sound.captured > before + 5, 'frames of the microphone');
    await started.host.stop();
  });

  it('is called again by the microphone afterwards', async () => {
    const started = await start();
    const client = new Client(started);
    const { done } = await client.press();
    client.say('_ next');
    client.release();
    await done;
    await eventually(() => started.engines.detecting >= 3, 'the ear of the microphone');
    started.sound.say('_ hey-computer next _ _ _ _');
    const [turn] = await started.over(2);
    assert.deepEqual([turn?.wakeword, turn?.heard, turn?.outcome], ['hey computer', 'next', 'answered']);
    await started.host.stop();
  });

  it('gets no faster through than a voice: a recording that comes at once is read as it is heard', async () => {
    const started = await start();
    const client = new Client(started);
    const { done } = await client.press();
    client.say(`_ next ${'_ '.repeat(20).trim()}`);
    client.release();
    await eventually(() => client.read > 3, 'the first chunks');
    assert.ok(client.read < 60, `${client.read} chunks were read at once`);
    await done;
    assert.equal(client.turn.outcome, 'answered');
    await started.host.stop();
  });
});

describe('a client that does not do what it should', () => {
  it('a second one is told that there is a turn, and the first is not disturbed', async () => {
    const started = await start();
    const [first, second] = [new Client(started), new Client(started)];
    const { done } = await first.press();
    first.say('_ next');
    await assert.rejects((await second.press()).done, { code: 'BUSY' });
    first.release();
    await done;
    assert.equal(first.turn.heard, 'next');
    assert.deepEqual(second.told, []);
    await started.host.stop();
  });

  it('one that goes in the middle of a word has said nothing, and the next one is heard', async () => {
    const started = await start();
    const gone = new Client(started);
    const { done } = await gone.press();
    gone.say('_ next');
    await eventually(() => gone.told.length > 0 && gone.read > 3, 'the beginning');
    gone.leave();
    await done.catch(() => undefined);
    const [turn] = await started.over();
    assert.deepEqual([turn?.outcome, turn?.code, started.known.ran], ['cancelled', 'CANCELLED', []]);
    const next = new Client(started);
    const again = await next.press();
    next.say('_ next');
    next.release();
    await again.done;
    assert.equal(next.turn.outcome, 'answered');
    await started.host.stop();
  });

  it('one that says nothing ends in silence at once, without waiting for the microphone', async () => {
    const started = await start();
    const client = new Client(started);
    const { done } = await client.press();
    client.say('_ _');
    client.release();
    started.sound.say('next');
    await done;
    assert.deepEqual([client.turn.outcome, client.turn.heard], ['silent', undefined]);
    await started.host.stop();
  });

  it('one that never lets go is listened to as long as anybody', async () => {
    const started = await start({ limits: { listeningMs: 700 } });
    const client = new Client(started);
    const { done } = await client.press();
    client.say('_ next');
    await done;
    assert.equal(client.turn.heard, 'next');
    await started.host.stop();
  });

  it('a device that is muted hears nothing; one that is muted meanwhile no more', async () => {
    const started = await start();
    const client = new Client(started);
    const { done } = await client.press();
    client.say('_ next');
    await started.service.mute(true);
    await done;
    assert.deepEqual([client.turn.outcome, client.turn.code], ['cancelled', 'VOICE_MUTED']);
    await assert.rejects((await new Client(started).press()).done, { code: 'VOICE_MUTED' });
    await started.host.stop();
  });
});
