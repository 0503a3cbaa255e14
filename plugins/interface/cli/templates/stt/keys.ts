import { CAPTURE_RATE } from '@device-core/plugin-api/services/audio';

const ROWS = [697, 770, 852, 941];
const COLUMNS = [1209, 1336, 1477];
const KEYS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'star', 'zero', 'pound'];
/** Share of the sound that the two tones of a key must make up. */
const PART = 0.6;
/** Mean power of a sample below which nothing is a tone. */
const SILENCE = 10_000;

/** The key of a telephone whose two tones are in these samples, as a word; undefined for any other sound. */
export function keyOf(samples: Int16Array): string | undefined {
  const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
  if (power < SILENCE) return undefined;
  const [row, low] = loudest(samples, ROWS);
  const [column, high] = loudest(samples, COLUMNS);
  // Speech has both tones now and then, but never nothing besides, nor as loud as each other.
  if (low + high < PART * power || low > 8 * high || high > 8 * low) return undefined;
  return KEYS[row * COLUMNS.length + column];
}

function loudest(samples: Int16Array, frequencies: readonly number[]): readonly [index: number, power: number] {
  const powers = frequencies.map((frequency) => powerAt(samples, frequency));
  const most = Math.max(...powers);
  return [powers.indexOf(most), most];
}

/** Goertzel's algorithm: mean power of one frequency. */
function powerAt(samples: Int16Array, frequency: number): number {
  const turn = 2 * Math.cos((2 * Math.PI * frequency) / CAPTURE_RATE);
  let last = 0;
  let before = 0;
  for (const sample of samples) [last, before] = [sample + turn * last - before, last];
  const energy = last * last + before * before - turn * last * before;
  return (2 * energy) / samples.length ** 2;
}
