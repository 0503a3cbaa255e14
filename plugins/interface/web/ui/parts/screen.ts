/** The panel of the device, live and touchable: a picture that follows it while somebody can see the page. */
import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { away, type Line, stream } from '../core/live.ts';
import { isOperator } from '../core/session.ts';
import { sheet, useVisible } from './ask.ts';
import { tellError } from './button.ts';
import { Fingers, unitsOf } from './fingers.ts';
import { drawFrame } from './frames.ts';
import { common } from './text.ts';

/** Enough for everything that a device of this kind shows. */
const FPS = 15;
const SHOWN_MS = 1_000;
/** Two clocks that agree better than this are taken to be one. */
const SAME_CLOCK_MS = 1_000;

/** Frames of the last second. */
export interface ScreenRate {
  readonly width: number;
  readonly height: number;
  readonly format: string;
  /** A second. */
  readonly frames: number;
  readonly bytes: number;
  /** Milliseconds from the panel to the page, of the slowest; by two clocks that differ, beyond the fastest so far. */
  readonly lagMs: number;
  /** It is not shown to viewers now. */
  readonly masked: boolean;
}

interface ScreenProps {
  readonly label: string;
  /** Touching reaches the device; viewers only look. */
  readonly touchable?: boolean;
  /** Path for touches; `/display/input` if absent. */
  readonly touches?: string;
  /** Nothing is lit, so nothing is shown. */
  readonly dark?: boolean;
  /** After frames came: at once, then at most once a second. Nothing is told while nothing is painted. */
  readonly onFrames?: (rate: ScreenRate) => void;
  readonly onError?: (error: unknown) => void;
  /** Over the picture. */
  readonly children?: ComponentChildren;
}

export function DeviceScreen(props: ScreenProps) {
  sheet('parts/screen.css');
  const canvas = useRef<HTMLCanvasElement>(null);
  const visible = useVisible();
  const [there, setThere] = useState(false);
  const [masked, setMasked] = useState(false);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    if (!visible) return;
    return watch(canvas.current!, {
      rate: (rate) => {
        setThere(true);
        setMasked(rate.masked);
        latest.current.onFrames?.(rate);
      },
      failed: (error) => latest.current.onError?.(error),
    });
  }, [visible]);
  const touchable = props.touchable !== false && isOperator();
  useEffect(() => (touchable ? touches(canvas.current!, props.touches) : undefined), [touchable, props.touches]);
  // The last frame stays, and must not look like a live one.
  const says = away.value ? common('away') : masked ? common('masked') : undefined;
  const state = `${touchable ? 'touchable' : ''} ${props.dark ? 'dark' : ''} ${there ? '' : 'empty'}`;
  return html`<div class=${`device ${state}`}><div class="device-glass"><canvas ref=${canvas} width="720" height="720" role="img" aria-label=${props.label}></canvas>${props.children || (says && html`<div class="device-says"><p>${says}</p></div>`)}</div></div>`;
}

/** Follows the panel until what it answers is called. */
function watch(
  canvas: HTMLCanvasElement,
  told: { rate(rate: ScreenRate): void; failed(error: unknown): void },
): () => void {
  let over = false;
  let [frames, bytes, slowest] = [0, 0, 0];
  let best = Number.POSITIVE_INFINITY;
  // When it was told last, and when the first frame came since.
  let [from, began] = [performance.now() - SHOWN_MS, 0];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let shape = { width: 0, height: 0, format: '', masked: false };
  const tell = () => {
    timer = undefined;
    const s = Math.max(SHOWN_MS, performance.now() - Math.max(from, began)) / 1_000;
    told.rate({ ...shape, frames: frames / s, bytes: bytes / s, lagMs: slowest });
    [frames, bytes, slowest, from, began] = [0, 0, 0, performance.now(), 0];
  };
  const draw = async (chunk: Uint8Array) => {
    const { width, height, format, at, masked = false } = await drawFrame(canvas, chunk);
    const late = Date.now() - at;
    best = Math.min(best, late);
    shape = { width, height, format, masked };
    if (frames === 0) began = performance.now();
    frames += 1;
    bytes += chunk.length;
    slowest = Math.max(slowest, best >= 0 && best < SAME_CLOCK_MS ? late : late - best);
    // The first at once; the last one of several is not lost.
    if (!over) timer ??= setTimeout(tell, Math.max(0, from + SHOWN_MS - performance.now()));
  };
  // One is drawn and one is ready at the Core: what changes meanwhile is in the next.
  const line: Line = stream(
    'display.frames',
    { encoding: 'deflate', fps: FPS },
    {
      // One bad frame is told, and the next is asked for all the same.
      chunk: (chunk) =>
        void draw(chunk)
          .catch(told.failed)
          .then(() => line.more(1)),
      closed: (error) => {
        if (error !== undefined) told.failed(error);
      },
    },
    { credit: 1, mine: true },
  );
  return () => {
    over = true;
    clearTimeout(timer);
    line.stop();
  };
}

function touches(canvas: HTMLCanvasElement, path?: string): () => void {
  const fingers = new Fingers(tellError, path);
  const over = new AbortController();
  const on = (name: 'pointerdown' | 'pointermove' | 'pointerup' | 'pointercancel', then: (e: PointerEvent) => void) =>
    canvas.addEventListener(name, then, { signal: over.signal });
  const place = ({ clientX, clientY }: PointerEvent): readonly [number, number] => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const { x, y } = unitsOf((clientX - left) / width, (clientY - top) / height, canvas);
    return [x, y];
  };
  on('pointerdown', (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    fingers.down(event.pointerId, ...place(event));
  });
  on('pointermove', (event) => fingers.move(event.pointerId, ...place(event)));
  on('pointerup', (event) => fingers.end(event.pointerId, 'up'));
  on('pointercancel', (event) => fingers.end(event.pointerId, 'cancel'));
  // A finger that is held means something to the device, and nothing to the browser.
  canvas.addEventListener('contextmenu', (event) => event.preventDefault(), { signal: over.signal });
  return () => {
    over.abort();
    fingers.cancel();
  };
}
