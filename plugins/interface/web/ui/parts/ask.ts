/** Asking the Core from a component, and following what happens. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, address, api, madeAt, returned } from '../core/api.ts';
import { type Follower, follow, type Item } from '../core/live.ts';
import { token } from '../core/session.ts';
import { type Joined, Shares, type Shown } from '../core/shares.ts';

export interface Asked<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  /** With what `useEvents` gave: asks only where the answer may be older than those events. */
  readonly reload: (cause?: unknown) => void;
}

const shares = new Shares(() => performance.now());
returned.subscribe((times) => {
  if (times === 0) return;
  shares.reload('all');
  relink();
});

/** Asks again for what could not be had: a plugin that gives it may have come. */
export const askFailedAgain = (): void => shares.reload('failed');

/** First events after a stream was opened; most of them are retained, and older than the answer that the page has. */
const greetings = new WeakSet<object>();

function sinceOf(cause: unknown): number | undefined {
  if (!Array.isArray(cause) || cause.length === 0 || !greetings.has(cause)) return undefined;
  return Math.max(...cause.map(({ data }: Item) => Number(Object(data).ts ?? Number.POSITIVE_INFINITY)));
}

/**
 * GETs a path when the component comes, when the path or the query changes, when the device answers again, and on
 * `reload()`. `undefined` asks nothing. What is there stays while it is asked anew. Components that ask the same share
 * the answer.
 */
export function useAsk<T>(path: string | undefined, query?: Readonly<Record<string, unknown>>): Asked<T> {
  const [{ data, error }, setShown] = useState<Shown>({});
  const joined = useRef<Joined | undefined>(undefined);
  const key = path && address(path, query);
  useEffect(() => {
    if (path === undefined) return;
    const ask = async (signal: AbortSignal) => {
      const value = await api.get<unknown>(path, query, signal);
      return { value, at: madeAt(value) };
    };
    const show = ({ data, error }: Shown) => setShown((now) => ({ data: data ?? now.data, error }));
    const mine = shares.join(`${token.peek()} ${key}`, ask, show);
    joined.current = mine;
    return () => {
      joined.current = undefined;
      mine.leave();
    };
  }, [key]);
  const reload = useCallback((cause?: unknown) => joined.current?.reload(sinceOf(cause)), []);
  return { data: data as T | undefined, error, reload };
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
 * Calls `then` after events of these topics (filters of the bus), at most once in `ms`, and each time that they begin
 * to be followed: for lists that are asked anew when something happened. Retained events come at once.
 */
export function useEvents(filters: readonly string[], then: (items: readonly Item[]) => void, ms = 250): void {
  const latest = useRef(then);
  latest.current = then;
  useEffect(() => {
    let items: Item[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isGreeting = false;
    const flush = () => {
      timer = undefined;
      const arrived = items;
      items = [];
      if (isGreeting) greetings.add(arrived);
      isGreeting = false;
      latest.current(arrived);
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
        // Events before the stream opened were missed: also the first time, as the list may have been asked before.
        opened: (lost) => {
          isGreeting = !lost;
          later();
        },
      },
    );
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [filters.join(' ')]);
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

/** Style sheets that are on their way, and those that did not come. */
const coming = new Set<Promise<void>>();
const missing = new Set<string>();

/**
 * Resolves when all that was linked so far is there: a page is not shown before, as it would jump. Rejects where one
 * cannot be had; the next call asks for it again.
 */
export async function sheets(): Promise<void> {
  relink();
  await Promise.all(coming);
  if (missing.size > 0) throw new Error(`cannot load ${[...missing].join(', ')}`);
}

function relink(): void {
  const again = [...missing];
  missing.clear();
  for (const href of again) attach(href);
}

/** Links a style sheet of a page, `pages/voice/voice.css`, once. */
export function sheet(path: string): void {
  const href = new URL(`../${path}`, import.meta.url).pathname;
  if (!missing.has(href) && !document.head.querySelector(`link[href="${href}"]`)) attach(href);
}

function attach(href: string): void {
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = href;
  const there = new Promise<void>((resolve) => {
    link.onload = () => resolve();
    link.onerror = () => {
      link.remove();
      missing.add(href);
      resolve();
    };
  }).finally(() => coming.delete(there));
  coming.add(there);
  document.head.append(link);
}

export const messageOf = (error: unknown): string =>
  error instanceof ApiError
    ? `${error.message} (${error.code})`
    : error instanceof Error
      ? error.message
      : String(error);
