import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';
import { text } from './text.ts';

/** Search entries about a screen. */
export async function entries(): Promise<readonly Entry[]> {
  const ask = (key: 'Cost' | 'Pair' | 'Light', query: Readonly<Record<string, string>> = {}): Entry => ({
    kind: 'question',
    title: text(`ask${key}`),
    icon: 'panel',
    href: link('panel', [], query),
    words: text(`words${key}`).split(' '),
  });
  return [ask('Cost'), ask('Pair', { pair: '1' }), ask('Light')];
}
