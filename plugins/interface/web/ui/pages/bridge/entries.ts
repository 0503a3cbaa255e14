/** Search entries about the bridge. */
import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';
import { words } from './text.ts';

export async function entries(): Promise<readonly Entry[]> {
  const question = (title: string, note: string, rest: readonly string[], more: string): Entry => ({
    kind: 'question',
    title,
    note,
    icon: 'bridge',
    href: link('bridge', rest),
    words: [more],
  });
  return [
    question(words('askLink'), words('askLinkNote'), [], 'cbp spi wire pins gpio led button verdrahtung câblage'),
    question(
      words('askSensors'),
      words('askSensorsNote'),
      ['sensors'],
      'temperature humidity pressure temperatur température',
    ),
    question(words('askHolder'), words('askHolderNote'), ['buses'], 'uart can i2c spi serial handle owner'),
    question(words('askTraffic'), words('askTrafficNote'), ['traffic'], 'trace frames decode protocol cbp'),
  ];
}
