/** State of the update: durable, in the history, and published on the bus. */
import { type Clock, CoreError, maybe } from '@device-core/plugin-api';
import type { KeptFile } from '@device-core/plugin-api/durable';
import type { UpdateTold } from '@device-core/plugin-api/inside/services/updates';
import type { History } from './history.ts';
import type { UpdateRecord } from './record.ts';
import { after, type Step } from './states.ts';

type Absent<T> = { readonly [K in keyof T]?: T[K] | undefined };
/** Members that are `undefined` go. */
export type Changed = Absent<Omit<UpdateRecord, 'state' | 'before' | 'since'>>;

/** A file that did not come and is asked for again. */
export interface Retry {
  /** Tries that failed, of so many. */
  readonly failed: number;
  readonly of: number;
  /** The next one; milliseconds since the Unix epoch. */
  readonly at: number;
  readonly reason: string;
}

export class Journal {
  readonly #kept: KeptFile<UpdateRecord>;
  readonly #history: History;
  readonly #clock: Clock;
  readonly #publish: (told: UpdateTold) => void;
  #percent: number | undefined;
  #retry: Retry | undefined;

  constructor(kept: KeptFile<UpdateRecord>, history: History, clock: Clock, publish: (told: UpdateTold) => void) {
    this.#kept = kept;
    this.#history = history;
    this.#clock = clock;
    this.#publish = publish;
  }

  get record(): UpdateRecord {
    return this.#kept.value;
  }

  /** A newer Core wrote what is kept: this one does not know what it says. */
  get newer(): boolean {
    return this.#kept.newer !== undefined;
  }

  get retry(): Retry | undefined {
    return this.#retry;
  }

  get told(): UpdateTold {
    const { state, reason = this.#retry && textOf(this.#retry) } = this.record;
    const { version, from, slot } = this.#about(state === 'checking');
    return {
      state,
      ...maybe({ version, from, slot, percent: this.#percent, reason }),
    };
  }

  /** A look into the repository is about no image, whatever was before it. */
  #about(looked: boolean) {
    const { left, wanted, from, slot } = this.record;
    const { version, image } = left ?? wanted ?? {};
    return looked ? {} : { version, image, from, slot };
  }

  can(step: Step): boolean {
    return after(this.record, step) !== undefined;
  }

  /**
   * The next state, in the history and told. The reason of the former one goes. `surely`: it must be on the disk before
   * what follows. Throws UPDATE_CONFLICT where the step is not possible, with `surely` the codes of a disk, and
   * STATE_NEWER.
   */
  async move(
    step: Step,
    change: Changed & { readonly by?: string; readonly verb?: string } = {},
    surely = false,
  ): Promise<void> {
    const { by, verb = step, ...more } = change;
    const was = this.record;
    const at = after(was, step);
    if (!at) throw new CoreError('UPDATE_CONFLICT', { verb, state: was.state });
    const { before: _, reason: __, rule: ___, ...rest } = was;
    this.#percent = undefined;
    this.#retry = undefined;
    await this.#set({ ...rest, ...at, ...present(more), since: this.#clock.now() }, gone(more), surely);
    const { state, reason } = this.record;
    const looked = state === 'checking' || (was.state === 'checking' && step !== 'found');
    const { version, image, from, slot } = this.#about(looked);
    await this.#history.add({
      at: this.#clock.now(),
      state: looked && step === 'fail' ? 'failed' : state,
      ...maybe({ version, image, from, slot, reason, by }),
    });
    this.#publish(this.told);
  }

  /** Changes what is known of it; told where the reason is another one. */
  async note(change: Changed): Promise<void> {
    const before = this.record.reason;
    await this.#set({ ...this.record, ...present(change) }, gone(change), false);
    if (this.record.reason !== before) this.#publish(this.told);
  }

  /** Told at each whole percent. */
  progress(done: number, of: number): void {
    const percent = of === 0 ? 100 : Math.min(100, Math.floor((100 * done) / of));
    if (percent === this.#percent && !this.#retry) return;
    this.#retry = undefined;
    this.#percent = percent;
    this.#publish(this.told);
  }

  /** Told until bytes come again, or it ends. */
  again(retry: Retry): void {
    this.#retry = retry;
    this.#publish(this.told);
  }

  async #set(value: UpdateRecord, without: readonly string[], surely: boolean): Promise<void> {
    const next = Object.fromEntries(Object.entries(value).filter(([name]) => !without.includes(name)));
    const written = this.#kept.set(next as object as UpdateRecord);
    if (surely) await written;
    else await written.catch(() => undefined); // in force, told in the health, and written when the disk takes it
  }
}

const present = (change: Changed): Partial<UpdateRecord> =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
const gone = (change: Changed): readonly string[] =>
  Object.entries(change).flatMap(([name, value]) => (value === undefined ? [name] : []));
const textOf = ({ failed, of, at, reason }: Retry): string =>
  `${reason}; try ${failed} of ${of} failed, the next is at ${new Date(at).toISOString()}`;
