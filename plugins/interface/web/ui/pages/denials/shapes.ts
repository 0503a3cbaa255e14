import type { Answers } from '../../core/answers.ts';
import { api } from '../../core/api.ts';
import type { Ask } from '../apps/shapes.ts';

/** One refusal in the answer of `GET /refusals`. Times are milliseconds since the Unix epoch. */
export type Refusal = Answers['system.refusals']['refusals'][number];

/** The claim of the app that covers the refused capability: the same, or one that contains it. */
export function coveringAsk(asks: readonly Ask[], capability: string): Ask | undefined {
  const wanted = capability.replace(/ \(port \d+\)$/, '').replace(/[:.]<[^>]*>$/, '');
  return asks.find(
    ({ capability: one }) =>
      wanted === one || wanted.startsWith(`${one}.`) || wanted.startsWith(`${one}:`) || one.startsWith(`${wanted}:`),
  );
}

/** `app.yaml` of whoever asks for it: the line alone, without words around it. */
export const lineOf = ({ hint }: Refusal): string => /^(.*?) (?:in|beside id: .* in) app\.yaml/.exec(hint)?.[1] ?? hint;

export async function refusals(): Promise<readonly Refusal[]> {
  return (await api.get<{ readonly refusals: readonly Refusal[] }>('/refusals', { limit: 256 })).refusals;
}
