/** One source of touch and keys, as the registry keeps it: its events are checked, counted and made gestures of. */
import { CoreError, type Scope } from '@device-core/plugin-api';
import { PANEL_UNITS } from '@device-core/plugin-api/scene';
import type {
  InputDescription,
  InputEvent,
  KeyInput,
  RotaryInput,
  TouchInput,
} from '@device-core/plugin-api/services/input';
import { type Gesture, Gestures } from './gestures.ts';

/** Maximum events of one push. */
const MOST_EVENTS = 64;
/** Gestures and keys of a source per second, and at once. No person's fingers are faster. */
const RATE = { perSecond: 50, burst: 50 } as const;
const MOST_DELTA = 1_000;
/** A timer that is so late may have overtaken what the device told meanwhile: that is heard first. */
const LATE_MS = 20;

export interface SourceEvents {
  gesture(source: Source, gesture: Gesture): void;
  key(source: Source, key: KeyInput): void;
  rotary(source: Source, turn: RotaryInput): void;
}

export interface SourceCounts {
  readonly events: number;
  /** No touch, no key of this source, no number. */
  readonly bad: number;
  /** Beyond what fingers can do. */
  readonly dropped: number;
}

export class Source {
  readonly description: InputDescription;
  /** Why its device is gone. */
  problem: string | undefined;
  readonly #scope: Scope;
  readonly #told: SourceEvents;
  readonly #gestures = new Gestures();
  readonly #keys: ReadonlySet<string>;
  readonly #held = new Set<string>();
  readonly #counts = { events: 0, bad: 0, dropped: 0 };
  #timer: Disposable | undefined;
  #due: number | undefined;
  #tokens: number = RATE.burst;
  #filled: number;

  constructor(description: InputDescription, scope: Scope, told: SourceEvents) {
    this.description = description;
    this.#scope = scope;
    this.#told = told;
    this.#keys = new Set(description.keys);
    this.#filled = scope.clock.monotonic();
  }

  get counts(): SourceCounts {
    return this.#counts;
  }

  /** Throws PARAMS_INVALID where it is no list, or too long a one; single events that mean nothing are counted. */
  push(events: readonly InputEvent[]): void {
    if (!Array.isArray(events) || events.length > MOST_EVENTS)
      throw new CoreError('PARAMS_INVALID', { where: 'events', reason: `at most ${MOST_EVENTS} at a time` });
    for (const event of events) {
      this.#counts.events++;
      if (event?.kind === 'touch' && this.description.touch) this.#touch(event);
      else if (event?.kind === 'key' && this.#keys.has(event.name)) this.#key(event);
      else if (event?.kind === 'rotary' && this.#keys.has(event.name)) this.#rotary(event);
      else this.#counts.bad++;
    }
  }

  /** Source or device is gone or back: fingers are lifted and keys let go, without a gesture. */
  release(): void {
    this.#gestures.reset();
    this.#arm();
    const at = this.#scope.clock.monotonic();
    for (const name of this.#held) this.#told.key(this, { kind: 'key', name, phase: 'up', at });
    this.#held.clear();
  }

  #touch({ id, phase, x, y, at }: TouchInput): void {
    if (!Number.isSafeInteger(id) || !Number.isFinite(x) || !Number.isFinite(y) || !PHASES.has(phase)) {
      this.#counts.bad++;
      return;
    }
    const touch = { key: String(id), phase, x: onPanel(x), y: onPanel(y), at };
    this.#tell(this.#gestures.touch(touch, this.#scope.clock.monotonic()));
    this.#arm();
  }

  #key(key: KeyInput): void {
    const { name, phase } = key;
    if (phase === 'down' && !this.#held.has(name)) {
      if (!this.#take()) return;
      this.#held.add(name);
    } else if (phase === 'up') {
      // A `down` beyond the rate was dropped, so its `up` is dropped too.
      if (!this.#held.delete(name)) return;
    } else if (phase !== 'repeat' || !this.#held.has(name)) {
      this.#counts.bad++;
      return;
    } else if (!this.#take()) return;
    this.#told.key(this, key);
  }

  #rotary(turn: RotaryInput): void {
    if (!Number.isInteger(turn.delta) || Math.abs(turn.delta) > MOST_DELTA) this.#counts.bad++;
    else if (turn.delta !== 0) this.#told.rotary(this, turn);
  }

  #tell(gestures: readonly Gesture[]): void {
    for (const gesture of gestures) {
      // A gesture beyond the rate is dropped whole.
      if (gesture.kind === 'begin' && !this.#take()) this.#gestures.drop();
      else this.#told.gesture(this, gesture);
    }
  }

  /** One timer, while a finger is held and may become a long press. */
  #arm(): void {
    const due = this.#gestures.next();
    if (due === this.#due) return;
    this.#timer?.[Symbol.dispose]();
    this.#due = due;
    this.#timer = undefined;
    if (due === undefined) return;
    const { clock } = this.#scope;
    const held = (again: boolean) => () => {
      const late = clock.monotonic() - due;
      if (again && late > LATE_MS) {
        this.#timer = this.#scope.timeout('a finger that is held', 1, held(false));
        return;
      }
      this.#tell(this.#gestures.tick(clock.monotonic()));
      this.#arm();
    };
    this.#timer = this.#scope.timeout('a finger that is held', Math.max(0, due - clock.monotonic()), held(true));
  }

  #take(): boolean {
    const now = this.#scope.clock.monotonic();
    this.#tokens = Math.min(RATE.burst, this.#tokens + ((now - this.#filled) / 1_000) * RATE.perSecond);
    this.#filled = now;
    if (this.#tokens < 1) {
      this.#counts.dropped++;
      return false;
    }
    this.#tokens -= 1;
    return true;
  }
}

const PHASES: ReadonlySet<string> = new Set(['down', 'move', 'up', 'cancel'] satisfies TouchInput['phase'][]);

function onPanel(value: number): number {
  return Math.min(PANEL_UNITS, Math.max(0, value));
}
