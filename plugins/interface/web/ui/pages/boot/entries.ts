import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';
import { text } from './text.ts';

/** Search entries about a start. */
export async function entries(): Promise<readonly Entry[]> {
  const ask = (key: 'Why' | 'Again' | 'Reset'): Entry => ({
    kind: 'question',
    title: text(`ask${key}`),
    icon: 'power',
    href: link('boot'),
    words: text(`words${key}`).split(' '),
  });
  return [ask('Why'), ask('Again'), ask('Reset')];
}
