/** Which REST paths this device has, `/display`, `/plugins/:id`: a SKU may lack some, and plugins come and go. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { away } from '../core/live.ts';
import { askFailedAgain, useAsk, useEvents } from './ask.ts';

interface Operations {
  readonly operations: readonly { readonly path?: string }[];
}

/** Undefined until it is known. */
export const offered = signal<ReadonlySet<string> | undefined>(undefined);
/** Grows when plugins came or went; what depends on them is asked again. */
export const pluginsChanged = signal(0);

const EVENTS_MS = 1_000;
/** A plugin that restarts is back sooner; its pages stay in the menu meanwhile. */
const GONE_MS = 5_000;

/** Keeps the above true, as long as the shell is there. */
export function useOfferedKept(): void {
  const { data, reload } = useAsk<Operations>('/operations');
  useEvents(
    ['plugin.state', 'plugin.changed'],
    (items) => {
      reload(items);
      askFailedAgain();
      pluginsChanged.value += 1;
    },
    EVENTS_MS,
  );
  useEffect(() => {
    if (data === undefined) return;
    const now = new Set(data.operations.flatMap(({ path }) => path ?? []));
    show(new Set([...(offered.peek() ?? []), ...now]));
    // A Core that stops takes all of them away; they stay until it has said what it has when it is back.
    const timer = setTimeout(() => {
      if (!away.peek()) show(now);
    }, GONE_MS);
    return () => clearTimeout(timer);
  }, [data]);
}

function show(paths: ReadonlySet<string>): void {
  const former = offered.peek();
  if (former?.size !== paths.size || [...paths].some((path) => !former.has(path))) offered.value = paths;
}
