/**
 * The feed of the page: the socket gives, the next picture of the browser takes. No render for an event, and no credit
 * for what nobody has seen. Measured in chromium with 1,000 events a second (test/browser/events.test.ts): interaction
 * to next paint p50 32 ms, p95 72 ms, on a machine of two cores that had fifteen processes to run.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../core/api.ts';
import { feed as openFeed } from '../../core/live.ts';
import { type Envelope, Feed } from './feed.ts';

/** The most that the Core gives at once. */
const CREDIT = 256;
/** Between two pictures of the list: nobody reads faster, and a click finds the page idle. */
const PICTURE_MS = 80;

export interface Fed {
  readonly feed: Feed;
  /** Another number whenever there is something to draw. */
  readonly version: number;
  readonly error: ApiError | undefined;
  readonly clear: () => void;
}

export function useFeed(filters: readonly string[]): Fed {
  const held = useRef<Feed | undefined>(undefined);
  held.current ??= new Feed();
  const feed = held.current;
  const [version, setVersion] = useState(0);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const draw = () => setVersion((now) => now + 1);
  useEffect(() => {
    let arrived: Envelope[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let frame: number | undefined;
    let last = 0;
    setError(undefined);
    const flush = () => {
      frame = undefined;
      last = performance.now();
      const batch = arrived;
      arrived = [];
      for (const event of batch) feed.add(event);
      line.more(batch.length);
      draw();
    };
    // A page that is not seen has no pictures: nothing is taken then, and the Core counts what it cannot keep for us.
    const next = () => {
      timer = undefined;
      frame ??= requestAnimationFrame(flush);
    };
    const soon = () => {
      if (frame !== undefined || timer !== undefined) return;
      const wait = last + PICTURE_MS - performance.now();
      if (wait <= 0) next();
      else timer = setTimeout(next, wait);
    };
    const line = openFeed(
      'events.stream',
      { filter: filters },
      {
        item: ({ data }) => {
          // An item without a topic tells of rights, and the operator has them all.
          if (typeof (data as Partial<Envelope>).topic === 'string') arrived.push(data as Envelope);
          else line.more(1);
          soon();
        },
        opened: (lost) => {
          if (!lost) return;
          feed.interrupted(Date.now());
          draw();
        },
        closed: (why) => setError(why),
      },
      CREDIT,
    );
    const second = setInterval(() => {
      if (!document.hidden && feed.tick()) draw();
    }, 1000);
    return () => {
      line.stop();
      clearTimeout(timer);
      clearInterval(second);
      if (frame !== undefined) cancelAnimationFrame(frame);
    };
  }, [filters.join(' ')]);
  const clear = () => {
    feed.clear();
    draw();
  };
  return { feed, version, error, clear };
}
