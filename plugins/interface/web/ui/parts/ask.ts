/** Asking the Core from a component, and following what happens. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, api, returned } from '../core/api.ts';
import { type Follower, follow, type Item } from '../core/live.ts';

export interface Asked<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly reload: () => void;
}

/** GETs a path when the component comes, when the path or the query changes, when the device answers again, and on `reload()`. `undefined` asks nothing. What is there stays while it is asked anew. */
export function useAsk<T>(path: string | undefined, query?: Readonly<Record<string, unknown>>): Asked<T> {
  const [data, setData] = useState<T | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify(query ?? {});
  const back = returned.value;
  useEffect(() => {
    if (path === undefined) return;
    const over = new AbortController();
    api.get<T>(path, query, over.signal).then(
      (value) => {
        if (over.signal.aborted) return;
        setData(value);
        setError(undefined);
      },
      (thrown) => {
        if (!over.signal.aborted) setError(thrown);
      },
    );
    return () => over.abort();
  }, [path, key, turn, back]);
  return { data, error, reload: useCallback(() => setTurn((now) => now + 1), []) };
}

/** Follows a streaming operation as long as the component is there. The follower may be a new object each time. */
export function useFollow(operation: string | undefined, params: object, on: Follower): void {
  const latest = useRef(on);
  latest.current = on;
  useEffect(() => {
    if (operation === undefined) return;
    return follow(operation, params, {
      item: (item) => latest.current.item(item),
      opened: (lost) => latest.current.opened?.(lost),
      closed: (error) => latest.current.closed?.(error),
    });
  }, [operation, JSON.stringify(params)]);
}

/**
 * Calls `then` after events of these topics (filters of the bus), at most once in `ms`, and each time that they begin to be followed: for lists that are asked
 * anew when something happened. Retained events come at once.
 */
export function useEvents(filters: readonly string[], then: (items: readonly Item[]) => void, ms = 250): void {
  const latest = useRef(then);
  latest.current = then;
  useEffect(() => {
    let items: Item[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      const came = items;
      items = [];
      latest.current(came);
    };
    const later = () => {
      timer ??= setTimeout(flush, ms);
    };
    const stop = follow(
      'events.stream',
      { filter: filters },
      {
        item: (item) => {
          items.push(item);
          later();
        },
        // What happened before nobody told: also the first time, as the list may have been asked before.
        opened: later,
      },
    );
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [filters.join(' ')]);
}

/** Which REST paths this device has, `/display`, `/plugins/:id`: a SKU may lack some. Undefined until it is known. */
export function useOffered(): ReadonlySet<string> | undefined {
  const { data } = useAsk<{ readonly operations: readonly { readonly path?: string }[] }>('/operations');
  return useMemo(() => data && new Set(data.operations.flatMap(({ path }) => path ?? [])), [data]);
}

/** True while somebody can see the page. */
export function useVisible(): boolean {
  const [visible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const changed = () => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', changed);
    return () => document.removeEventListener('visibilitychange', changed);
  }, []);
  return visible;
}

/** Style sheets that are on their way. */
const coming = new Set<Promise<void>>();

/** Resolves when all that was linked so far is there, or cannot be had: a page is not shown before, as it would jump. */
export const sheets = (): Promise<unknown> => Promise.all(coming);

/** Links a style sheet of a page, `pages/voice/voice.css`, once. */
export function sheet(path: string): void {
  const href = new URL(`../${path}`, import.meta.url).pathname;
  if (document.head.querySelector(`link[href="${href}"]`)) return;
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = href;
  const there = new Promise<void>((resolve) => {
    link.onload = link.onerror = () => resolve();
  }).finally(() => coming.delete(there));
  coming.add(there);
  document.head.append(link);
}

export const messageOf = (error: unknown): string =>
  error instanceof ApiError ? `${error.message} (${error.code})` : String(error);
