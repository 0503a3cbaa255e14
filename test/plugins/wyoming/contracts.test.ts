/** External engines are engines like others: the service behind them knows sentences by how long they are. */
import { after, describe } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { sttContract } from '../../contracts/stt.ts';
import { wakeContract } from '../../contracts/wake.ts';
import { INFO, type Manner, Service } from './service.ts';
import { eventually, start } from './start.ts';
import type { Peer } from './wire.ts';

after(leakCheck());

/** A service that computes beside other tests may take its time. */
const PATIENT = { connectMs: 10_000, answerMs: 10_000, stallMs: 10_000, checkMs: 60_000 };
const CHUNK_MS = 20;
const NAMES = { short: 'hey_computer', long: 'good_morning_device' };
const WAKE = {
  ...INFO.wake[0]!,
  models: Object.values(NAMES).map((name) => ({
    ...INFO.wake[0]!.models[0]!,
    name,
    phrase: name.replaceAll('_', ' '),
  })),
};

/** What a stream had up to now, in milliseconds. */
interface Heard {
  at: number;
  from: number | undefined;
  to: number;
  names: readonly string[];
}

async function open(kind: 'stt' | 'wake', manner: Manner) {
  const service = await Service.start();
  service.info = { ...INFO, wake: [WAKE] };
  service.manner = manner;
  const started = await start({ ...PATIENT, engines: [{ kind, id: 'other', uri: service.uri }] });
  await eventually('its registration', () => started.registry.rows.length === 1);
  const { engine } = started.registry.find(kind);
  return {
    engine: engine as never,
    leave: () => started.host.stop(),
    async [Symbol.asyncDispose]() {
      await started.host.stop();
      await service.close();
    },
  };
}

/** Sound that goes up and down quickly enough. */
function loud(pcm: Buffer): boolean {
  let most = 0;
  for (let at = 2; at + 1 < pcm.length; at += 2)
    most = Math.max(most, Math.abs(pcm.readInt16LE(at) - pcm.readInt16LE(at - 2)));
  return most > 150;
}

function listening(pause: (peer: Peer, heard: Heard) => void, end: (peer: Peer, heard: Heard) => void): Manner {
  const streams = new WeakMap<Peer, Heard>();
  return (peer, { type, data, payload }) => {
    const heard = streams.get(peer) ?? { at: 0, from: undefined, to: 0, names: [] };
    streams.set(peer, heard);
    if (type === 'detect') heard.names = data.names as string[];
    if (type === 'audio-chunk') {
      heard.at += CHUNK_MS;
      if (loud(payload)) {
        heard.from ??= heard.at - CHUNK_MS;
        heard.to = heard.at;
      } else if (heard.from !== undefined && heard.at - heard.to >= 300) {
        pause(peer, heard);
      }
    }
    if (type === 'audio-stop') end(peer, heard);
  };
}

describe('an external engine for sentences', { timeout: 300_000 }, () => {
  const manner = listening(
    () => undefined,
    (peer, { from, to }) => {
      const ms = from === undefined ? 0 : to - from;
      const command = 'Turn on the kitchen light.';
      const text = ms === 0 ? '' : ms < 1_000 ? 'Hey computer!' : ms < 1_900 ? command : `Hey computer, ${command}`;
      peer.tell('transcript', { text: text.replace(/[.!]$/, '') });
    },
  );
  sttContract(() => open('stt', manner), { needsGrammar: false, streaming: false, foreign: 'fr' });
});

describe('an external engine for phrases', { timeout: 300_000 }, () => {
  const manner = listening(
    (peer, heard) => {
      const ms = heard.to - heard.from!;
      const name = ms < 300 ? undefined : ms < 1_000 ? NAMES.short : NAMES.long;
      if (name !== undefined && heard.names.includes(name)) peer.tell('detection', { name, timestamp: heard.to });
      heard.from = undefined;
    },
    (peer) => peer.tell('not-detected'),
  );
  wakeContract(() => open('wake', manner), {
    phrases: ['hey computer', 'good morning device'],
    impossible: ['', 'open sesame'],
    tellsEndWithinMs: 250,
  });
});
