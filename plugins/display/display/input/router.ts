/** Routes events of sources: a surface gets its own touches alone, home and mute belong to the device. */
import {
  CoreError,
  FOR_USER,
  type Logger,
  maybe,
  type Scope,
  type ServesEachUser,
  type ServiceUser,
} from '@device-core/plugin-api';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import type { SurfaceInput } from '@device-core/plugin-api/services/display';
import type {
  InputDescription,
  InputSource,
  Inputs,
  KeyInput,
  RotaryInput,
} from '@device-core/plugin-api/services/input';
import type { InputSeam, TouchableSurface } from '../seams.ts';
import type { Gesture } from './gestures.ts';
import type { KeyTable } from './keys.ts';
import { Source } from './source.ts';
import { isGuarded, PROMPT_GUARD_MS, stillThere, type Target, targetAt, targetOfKeys } from './target.ts';

const MOST_SOURCES = 32;
/** Milliseconds within which turns of a knob are sent as one. */
const TURN_MS = 16;

export interface RouterOptions {
  readonly scope: Scope;
  readonly log: Logger;
  readonly seam: InputSeam;
  readonly keys: KeyTable;
  /** Injected sources reach prompts and the system, too. */
  readonly simulated: boolean;
  /** Plugins from outside whose sources count as the device's own. */
  readonly trusted: readonly string[];
  readonly light: { dark(): boolean; wake(reason: string): void };
  /** Toggles where it is not said. An injected key may mute, never unmute. */
  readonly mute: (onlyMute: boolean) => void;
  readonly power: () => void;
  readonly publish: (name: string, phase: 'down' | 'up') => void;
  /** Monotonic time of what is seen. */
  readonly seenAt?: () => number;
}

interface Stroke {
  /** It wakes the panel, and that is all. */
  readonly dark: boolean;
  readonly target: Target | undefined;
  /** Time of the glass. */
  readonly since: number;
}

export class InputRouter implements Inputs, ServesEachUser<Inputs> {
  readonly #options: RouterOptions;
  readonly #sources = new Map<string, Source>();
  readonly #strokes = new WeakMap<Source, Stroke>();
  readonly #turns = new Map<string, { delta: number }>();
  readonly #asleep = new Set<string>();
  /** Count of refused events of injected sources. */
  refused = 0;

  constructor(options: RouterOptions) {
    this.#options = options;
  }

  get sources(): readonly Source[] {
    return [...this.#sources.values()];
  }

  [FOR_USER](user: ServiceUser): Inputs {
    const strange = user.outside === true && !this.#options.trusted.includes(user.plugin);
    return {
      register: (description) => this.register(strange ? { ...description, injected: true } : description),
    };
  }

  register(description: InputDescription): InputSource {
    const { id } = description;
    if (this.#sources.has(id))
      throw new CoreError('PARAMS_INVALID', { where: 'id', reason: `there is a source ${id} already` });
    if (this.#sources.size >= MOST_SOURCES)
      throw new CoreError('PARAMS_INVALID', { where: 'id', reason: `there are ${MOST_SOURCES} sources already` });
    const source = new Source(description, this.#options.scope, {
      gesture: (from, gesture) => this.#gesture(from, gesture),
      key: (from, key) => this.#key(from, key),
      rotary: (from, turn) => this.#rotary(from, turn),
    });
    this.#sources.set(id, source);
    return {
      push: async (events) => {
        if (this.#sources.get(id) === source) source.push(events);
      },
      problem: async (reason) => {
        source.problem = reason;
        source.release();
        const { log } = this.#options;
        if (reason === undefined) log.info({ source: id }, `input ${id} is back`);
        else log.warn({ source: id, reason }, `input ${id} is gone: ${reason}`);
      },
      [Symbol.asyncDispose]: async () => {
        source.release();
        if (this.#sources.get(id) === source) this.#sources.delete(id);
      },
    };
  }

  #gesture(source: Source, gesture: Gesture): void {
    const { seam } = this.#options;
    if (gesture.kind === 'begin') {
      const dark = this.#woken();
      const target = dark ? undefined : this.#at(gesture.x, gesture.y);
      this.#strokes.set(source, { dark, target, since: this.#seenAt() });
      return;
    }
    const stroke = this.#strokes.get(source);
    this.#strokes.delete(source);
    if (!stroke || stroke.dark) return;
    if (gesture.kind === 'home') {
      seam.home();
      return;
    }
    const { target, since } = stroke;
    if (!target || !stillThere(target, this.#at(gesture.x, gesture.y))) return;
    const { surface, node, tap } = target;
    const { box, version } = surface;
    const where = { x: gesture.x - box.x, y: gesture.y - box.y };
    const what = { ...maybe({ node, tap }) };
    const how = gesture.kind === 'swipe' ? { direction: gesture.direction } : {};
    this.#deliver(source, surface, { scene: version, ...what, phase: gesture.kind, ...where, ...how }, since);
  }

  #key(source: Source, { name, phase }: KeyInput): void {
    const { keys, seam, mute, power, publish } = this.#options;
    const { does, isPublic } = keys.of(name);
    const held = `${source.description.id} ${name}`;
    if (isPublic && phase !== 'repeat') publish(name, phase);
    if (phase === 'up') {
      this.#asleep.delete(held);
      return;
    }
    // Mute works at once, on a dark panel too.
    if (does === 'mute') {
      if (phase === 'down') mute(source.description.injected && !this.#options.simulated);
      return;
    }
    if (does === 'power') {
      if (phase === 'down') power();
      return;
    }
    if (phase === 'down' && this.#woken()) this.#asleep.add(held);
    if (this.#asleep.has(held)) return;
    if (does === 'home') {
      if (phase === 'down') seam.home();
      return;
    }
    const surface = targetOfKeys(seam.surfacesFromAbove(), seam.foreground());
    if (surface) this.#deliver(source, surface, { scene: surface.version, phase: 'key', key: name });
  }

  #rotary(source: Source, { name, delta }: RotaryInput): void {
    const key = `${source.description.id} ${name}`;
    const waiting = this.#turns.get(key);
    if (waiting) {
      waiting.delta += delta;
      return;
    }
    if (this.#woken()) return;
    this.#turn(source, name, delta);
    const turn = { delta: 0 };
    this.#turns.set(key, turn);
    this.#options.scope.timeout(`knob ${name}`, TURN_MS, () => {
      this.#turns.delete(key);
      if (turn.delta !== 0) this.#rotary(source, { kind: 'rotary', name, delta: turn.delta, at: 0 });
    });
  }

  #turn(source: Source, name: string, delta: number): void {
    const { seam } = this.#options;
    const surface = targetOfKeys(seam.surfacesFromAbove(), seam.foreground());
    if (surface) this.#deliver(source, surface, { scene: surface.version, phase: 'rotary', key: name, delta });
  }

  /** Presence of a person was noticed. True: the panel was dark, and this touch only lit it. */
  #woken(): boolean {
    const { seam, light } = this.#options;
    const dark = light.dark();
    seam.touched();
    if (dark) light.wake('touch');
    return dark;
  }

  #at(x: number, y: number): Target | undefined {
    return targetAt(this.#options.seam.surfacesFromAbove(), x, y, this.#seenAt());
  }

  #seenAt(): number {
    return (this.#options.seenAt ?? monotonicMs)();
  }

  /** `since`: when the person began. */
  #deliver(source: Source, surface: TouchableSurface, input: SurfaceInput, since = this.#seenAt()): void {
    const { seam, simulated, log } = this.#options;
    if (isGuarded(surface)) {
      const { id, injected } = source.description;
      if (injected && !simulated) {
        if (this.refused === 0)
          log.warn({ source: id, surface: surface.id }, `injected input does not reach ${surface.id}`);
        this.refused++;
        return;
      }
      if (since - surface.shownAt < PROMPT_GUARD_MS) return;
    }
    seam.deliver(surface.id, input);
  }
}
