/** How an event is said in words. */
import { locale } from '../../core/text.ts';
import type { Level } from '../../parts/level.ts';
import { plain } from '../../parts/plain.ts';
import type { Envelope, GapRow } from './feed.ts';
import { words } from './text.ts';

export const PRIORITY_LEVEL: Readonly<Record<Envelope['priority'], Level>> = {
  low: 'quiet',
  normal: 'quiet',
  high: 'warn',
  critical: 'error',
};

export function sourceText({ source, via }: Envelope): string {
  if (source === 'core') return via === undefined ? words('fromCore') : words('fromPlugin', { plugin: plain(via, 80) });
  if (source === 'operator') return words('fromOperator');
  const [, test, app] = /^(test\.)?app\.(.+)$/.exec(source) ?? [];
  if (app === undefined) return plain(source, 140);
  return words(test ? 'fromTest' : 'fromApp', { app: plain(app, 140) });
}

/** The payload in one line, as far as a line goes. */
export function payloadLine(payload: Envelope['payload']): string {
  const parts: string[] = [];
  let length = 0;
  for (const [name, value] of Object.entries(payload)) {
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    const part = `${plain(name, 40)}: ${plain(text, 120)}`;
    parts.push(part);
    length += part.length;
    if (length > 240) break;
  }
  return parts.join('  ');
}

/** With milliseconds: what came first matters here. */
export const exactTime = (at: number): string =>
  new Intl.DateTimeFormat(locale.value, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
  }).format(at);

export const exactWhen = (at: number): string =>
  new Intl.DateTimeFormat(locale.value, {
    year: 'numeric',
    month: 'short',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
  }).format(at);

export function gapText({ gap, count, counts }: GapRow): string {
  if (gap === 'restart') return words('restart');
  if (gap === 'socket')
    return count === undefined
      ? words('socket')
      : count === 0
        ? words('socketNone')
        : words('socketCount', { n: count });
  const by = Object.entries(counts ?? {}).filter(([, n]) => n > 0);
  const each = by.map(([priority, n]) => words('byPriority', { count: n, priority: nameOf(priority) })).join(', ');
  return `${words(gap, { n: count ?? 0 })}${each === '' ? '' : ` (${each})`}`;
}

const NAMES = ['low', 'normal', 'high', 'critical'] as const;
export const nameOf = (priority: string): string => {
  const known = NAMES.find((one) => one === priority);
  return known === undefined ? plain(priority, 20) : words(known);
};
