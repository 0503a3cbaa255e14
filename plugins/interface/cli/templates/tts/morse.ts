/** Text as the long and short beeps of Morse. */
const LETTERS: Readonly<Record<string, string>> = {
  a: '.-',
  b: '-...',
  c: '-.-.',
  d: '-..',
  e: '.',
  f: '..-.',
  g: '--.',
  h: '....',
  i: '..',
  j: '.---',
  k: '-.-',
  l: '.-..',
  m: '--',
  n: '-.',
  o: '---',
  p: '.--.',
  q: '--.-',
  r: '.-.',
  s: '...',
  t: '-',
  u: '..-',
  v: '...-',
  w: '.--',
  x: '-..-',
  y: '-.--',
  z: '--..',
  0: '-----',
  1: '.----',
  2: '..---',
  3: '...--',
  4: '....-',
  5: '.....',
  6: '-....',
  7: '--...',
  8: '---..',
  9: '----.',
};

/** Lengths in dots: a beep, and then a pause. */
export interface Beep {
  readonly dots: number;
  readonly pause: number;
}

/** Letters and digits; what Morse does not know is left out. */
export function beepsOf(word: string): readonly Beep[] {
  return [...word.toLowerCase()].flatMap((letter) => {
    const code = [...(LETTERS[letter] ?? '')];
    return code.map((sign, index) => ({ dots: sign === '-' ? 3 : 1, pause: index < code.length - 1 ? 1 : 3 }));
  });
}
