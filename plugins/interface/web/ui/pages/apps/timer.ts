import { useEffect, useRef } from 'preact/hooks';

/** Calls `then` again and again, for what no event tells; `undefined` stops it. */
export function useTimer(ms: number | undefined, then: () => void): void {
  const latest = useRef(then);
  latest.current = then;
  useEffect(() => {
    if (ms === undefined) return;
    const timer = setInterval(() => latest.current(), ms);
    return () => clearInterval(timer);
  }, [ms]);
}
