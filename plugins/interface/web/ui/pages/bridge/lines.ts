import { useEffect, useRef } from 'preact/hooks';
import { stream } from '../../core/live.ts';

/** Follows a stream of JSON lines as long as the component is there; `undefined` follows nothing. */
export function useLines<T>(
  name: string | undefined,
  params: object,
  on: { readonly lines: (lines: readonly T[]) => void; readonly closed?: (error: unknown) => void },
): void {
  const latest = useRef(on);
  latest.current = on;
  useEffect(() => {
    if (name === undefined) return;
    let rest = '';
    let waiting: T[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let text = new TextDecoder();
    const line = stream(name, params, {
      // Half a line of a socket that was lost is no beginning of another.
      opened: () => {
        rest = '';
        text = new TextDecoder();
      },
      chunk: (bytes) => {
        const parts = `${rest}${text.decode(bytes, { stream: true })}`.split('\n');
        rest = parts.pop() ?? '';
        for (const one of parts) waiting.push(JSON.parse(one));
        // Drawn ten times a second, however many come.
        timer ??= setTimeout(() => {
          timer = undefined;
          const arrived = waiting;
          waiting = [];
          latest.current.lines(arrived);
        }, 100);
      },
      closed: (error) => latest.current.closed?.(error),
    });
    return () => {
      line.stop();
      clearTimeout(timer);
    };
  }, [name, JSON.stringify(params)]);
}
