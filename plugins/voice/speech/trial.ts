/** Places of phrases in a recording, and the strictest threshold that each bears: thresholds are tuned by them. */
import { CoreError } from '@device-core/plugin-api';
import { decodeWav, msOf, Reblocker, resample } from '@device-core/plugin-api/audio';
import { base64Schema, bytesOf, exactly, PerCaller } from '@device-core/plugin-api/operation-kit';
import { type AudioFrame, CAPTURE_RATE, FRAME_MS } from '@device-core/plugin-api/services/audio';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { Speech, WakeHit } from '@device-core/plugin-api/services/speech';

interface Trial {
  readonly wav: string;
  readonly phrases: readonly string[];
}

interface Found {
  readonly phrase: string;
  readonly strictest: number;
  readonly at: number;
}

const MOST_BYTES = 3 << 20;
const MOST_SECONDS = 60;
/** Computing is a tenth of the sound on a small device, and there may be others who compute. */
const TRIAL_MS = 120_000;
/** Quiet before and after it: an engine is used to the room, and hears the end. */
const AROUND = CAPTURE_RATE / 2;
/** Signs of a phrase that are no further apart are of one. */
const ONE_MS = 1_000;

export function trialOperation(speech: Pick<Speech, 'detectWake'>): Operation<Trial, object> {
  // A trial computes as fast as it can: one at a time for each caller.
  const callers = new PerCaller(1);
  return {
    name: 'speech.phrases',
    summary: 'Look for phrases in a WAV file, and tell how strict a threshold each bears',
    description: `At most ${MOST_SECONDS} s. It is not played, and no turn begins. For \`devicectl voice tune\`.`,
    params: exactly({
      wav: base64Schema(MOST_BYTES, 'A WAV file'),
      phrases: {
        type: 'array',
        minItems: 1,
        maxItems: 8,
        items: { type: 'string', minLength: 1, maxLength: 64, pattern: '^[^\\sA-Z]+( [^\\sA-Z]+)*$' },
      },
    }),
    result: exactly({
      ms: { type: 'number', description: 'how long it is' },
      hits: {
        type: 'array',
        items: exactly({
          phrase: { type: 'string' },
          strictest: { type: 'number', description: 'the highest threshold at which it is one, 0 to 1' },
          at: { type: 'number', description: 'where it ends, milliseconds' },
        }),
      },
    }),
    capability: 'audio',
    rest: { method: 'POST', path: '/speech/phrases', bodyLimit: MOST_BYTES * 2 },
    timeoutMs: TRIAL_MS,
    errors: ['PARAMS_INVALID', 'ENGINE_MISSING', 'SPEECH_FAILED', 'BUSY', 'CANCELLED'],
    run: ({ wav, phrases }, { caller, signal }) =>
      callers.run(caller, async () => {
        const pcm = decodeWav(bytesOf(wav, 'wav'));
        if (pcm.samples.length > MOST_SECONDS * pcm.rate)
          throw new CoreError('PARAMS_INVALID', { where: 'wav', reason: `it is longer than ${MOST_SECONDS} s` });
        const { samples } = resample(pcm, CAPTURE_RATE);
        const wanted = phrases.map((phrase) => ({ phrase }));
        const hits: WakeHit[] = [];
        for await (const hit of speech.detectWake(framesOf(samples), { phrases: wanted, trial: true, signal }))
          hits.push(hit);
        return { ms: msOf(samples.length), hits: onePerPhrase(hits) };
      }),
  };
}

/** The sound in a quiet room, its first sample at the moment 0. */
async function* framesOf(samples: Int16Array): AsyncGenerator<AudioFrame> {
  const whole = new Int16Array(samples.length + 2 * AROUND).map((_, at) => at % 3);
  whole.set(samples, AROUND);
  const blocks = new Reblocker();
  let seq = 0;
  for (const block of blocks.push(whole))
    yield { seq, at: ++seq * FRAME_MS - (1_000 * AROUND) / CAPTURE_RATE, samples: block };
}

/** The strictest sign of each. */
function onePerPhrase(hits: readonly WakeHit[]): readonly Found[] {
  const found: (Found & { last: number })[] = [];
  for (const { phrase, at, strictest = 0 } of hits) {
    const former = found.findLast((one) => one.phrase === phrase);
    const same = former && at - former.last <= ONE_MS;
    const best = { phrase, at: Math.round(at), strictest: Math.round(1_000 * strictest) / 1_000 };
    if (!same) found.push({ ...best, last: at });
    else if (best.strictest > former.strictest) Object.assign(former, best, { last: at });
    else former.last = at;
  }
  return found.map(({ last: _, ...one }) => one);
}
