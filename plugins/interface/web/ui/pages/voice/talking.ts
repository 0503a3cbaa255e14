/** One talk: the stream to the device and where its sound comes from. */
import { ApiError } from '../../core/api.ts';
import { stream } from '../../core/live.ts';
import type { Turn } from './shapes.ts';
import { microphone, recording, type Source, type Taker } from './sound.ts';

export interface Told {
  /** `opening`: the browser is asked. `talking`: it is heard. `waiting`: the button was let go. */
  phase(phase: 'off' | 'opening' | 'talking' | 'waiting'): void;
  level(level: number): void;
  /** So many pieces of the sound were lost on the way to whoever listens. */
  lost(pieces: number): void;
  /** It is over, with its turn or with what went wrong. */
  over(turn: Turn | undefined, error: unknown): void;
}

export interface Talk {
  /** That was all. */
  release(): void;
  /** Nobody wants to know: the turn ends unfinished. */
  cancel(): void;
}

export function talk(from: Blob | 'microphone', told: Told): Talk {
  const off = new AbortController();
  let source: Source | undefined;
  let released = false;
  const quiet = () => {
    source?.stop();
    source = undefined;
    told.level(0);
  };
  const end = (turn: Turn | undefined, error?: unknown) => {
    if (off.signal.aborted) return;
    off.abort(new DOMException('the talk is over', 'AbortError'));
    quiet();
    line?.stop();
    told.phase('off');
    told.over(turn, error);
  };
  let line: ReturnType<typeof stream> | undefined;
  const open = () => {
    line = stream(
      'voice.talk',
      {},
      {
        chunk: (bytes) => {
          const said = JSON.parse(new TextDecoder().decode(bytes)) as Turn;
          if (said.outcome !== undefined) end(said);
        },
        lost: told.lost,
        closed: (error) =>
          end(undefined, error ?? new ApiError(0, { code: 'CANCELLED', message: 'the device ended the turn' })),
      },
      { once: true },
    );
    told.phase('talking');
  };
  const release = () => {
    if (released || off.signal.aborted) return;
    released = true;
    quiet();
    if (line === undefined) return end(undefined);
    line.send(new Uint8Array());
    told.phase('waiting');
  };
  const taker: Taker = {
    frame: (bytes) => {
      // The first sound opens the turn: the browser may have asked its reader for a while.
      if (line === undefined) open();
      line?.send(bytes);
    },
    level: told.level,
  };
  told.phase('opening');
  const begin = from === 'microphone' ? microphone(taker, off.signal) : recording(from, taker, () => release());
  begin.then(
    (ready) => {
      if (released || off.signal.aborted) ready.stop();
      else source = ready;
    },
    (error) => end(undefined, error),
  );
  return { release, cancel: () => end(undefined) };
}
