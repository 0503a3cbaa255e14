import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';
import { refusals } from './shapes.ts';
import { text } from './text.ts';

/** Each thing that was refused; the question itself is one of the shell. */
export async function entries(): Promise<readonly Entry[]> {
  const found = await refusals();
  return found.map(
    ({ caller, capability, count }): Entry => ({
      kind: 'refusal',
      title: `${caller.id}: ${capability}`,
      note: text('times', { n: count }),
      icon: 'denials',
      href: link('denials', [], { of: caller.id }),
      words: ['refused', 'denied', 'why'],
    }),
  );
}
