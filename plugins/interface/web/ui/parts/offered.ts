/** Which REST paths this device has, `/display`, `/plugins/:id`: a SKU may lack some, and plugins come and go. */

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { away, type Item } from '../core/live.ts';
import type { Operation } from '../core/operation.ts';
import { askFailedAgain, useAsk, useEvents } from './ask.ts';

/** Both are undefined until they are known. */
export const operations = signal<readonly Operation[] | undefined>(undefined);
export const offered = signal<ReadonlySet<string> | undefined>(undefined);
/** The last events of plugins that came or went; what depends on them is asked again. */
export const pluginsChanged = signal<readonly Item[] | undefined>(undefined);

const EVENTS_MS = 1_000;
/** A plugin that restarts is back sooner; its pages stay in the menu meanwhile. */
const GONE_MS = 5_000;

/** Keeps the above true, as long as the shell is there. */
export function useOfferedKept(): void {
  const { data, reload } = useAsk<{ readonly operations: readonly Operation[] }>('/operations');
  useEvents(
    ['plugin.state', 'plugin.changed'],
    (items) => {
      reload(items);
      askFailedAgain();
      pluginsChanged.value = items;
    },
    EVENTS_MS,
  );
  const missing = useRef(new Map<string, number>());
  useEffect(() => {
    if (data === undefined) return;
    const now = performance.now();
    const there = new Set(data.operations.flatMap(({ path }) => path ?? []));
    const since = missing.current;
    for (const path of there) since.delete(path);
    // A Core that stops or starts lacks most of them; they count as missing from when it can be reached.
    if (away.peek()) since.clear();
    else for (const path of offered.peek() ?? []) if (!there.has(path) && !since.has(path)) since.set(path, now);
    const kept = [...(offered.peek() ?? [])].filter((path) => now - (since.get(path) ?? now) < GONE_MS);
    const shown = new Set([...kept, ...there]);
    for (const path of since.keys()) if (!shown.has(path)) since.delete(path);
    const stays = ({ path = '' }: Operation) => !there.has(path) && shown.has(path);
    operations.value = [...data.operations, ...(operations.peek() ?? []).filter(stays)];
    show(shown);
    if (since.size === 0) return;
    const timer = setTimeout(reload, GONE_MS);
    return () => clearTimeout(timer);
  }, [data]);
}

function show(paths: ReadonlySet<string>): void {
  const former = offered.peek();
  if (former?.size !== paths.size || [...paths].some((path) => !former.has(path))) offered.value = paths;
}
