/**
 * Acts of pages that wait for a person to confirm them. A confirmation holds for one session, one operation and its
 * params, and is used once. The person gives it at the device or by a code that only the owner of the device can
 * make.
 */
import { createHash, randomBytes } from 'node:crypto';
import { type CallContext, type Clock, CoreError, maybe } from '@device-core/plugin-api';
import type { SensitiveAct } from '@device-core/plugin-api/services/operations';
import type { ActSubject } from '@device-core/plugin-api/services/prompts';

const VALID_MS = 120_000;
/** Most open confirmations of one session; a further one drops the oldest. A person looks at one. */
const MOST_OF_ONE = 4;
const MOST = 32;
/** Characters of an act. What cannot be shown whole is not confirmed by a page. */
const LONGEST = 2_000;

export type ConfirmationState = 'open' | 'confirmed' | 'refused' | 'gone';

export interface Waiting extends Pick<SensitiveAct, 'operation' | 'what' | 'act' | 'names'> {
  readonly id: string;
  readonly session: string;
  readonly about: ActSubject | undefined;
  /** Milliseconds that it is good for. */
  readonly ms: number;
  /** Milliseconds since the Unix epoch. */
  readonly until: number;
}

interface Pending extends Waiting {
  readonly digest: string;
  /** On the steady clock. */
  readonly ends: number;
  state: Exclude<ConfirmationState, 'gone'>;
  /** Called when it is decided, or gone. */
  readonly waiters: Set<() => void>;
}

export interface ConfirmationsOptions {
  readonly clock: Clock;
  /** Asks on the panel of the device. */
  readonly ask: (waiting: Waiting) => void;
  /** Nobody need answer it any more. */
  readonly over: (waiting: Waiting) => void;
  /** Can it be asked there? */
  readonly panel: () => boolean;
}

export class Confirmations {
  readonly #options: ConfirmationsOptions;
  readonly #pending = new Map<string, Pending>();

  constructor(options: ConfirmationsOptions) {
    this.#options = options;
  }

  /** The refusal, unless the call brings what a person confirmed. Rejects where the act would be refused anyway. */
  async refusal(act: SensitiveAct, { caller }: Pick<CallContext, 'caller'>): Promise<CoreError | undefined> {
    const { signedIn } = caller;
    if (signedIn === undefined) return undefined;
    this.#sweep();
    const brought = signedIn.confirmation === undefined ? undefined : this.#pending.get(signedIn.confirmation);
    // Params may be megabytes.
    const digest = createHash('sha256').update(act.exact).digest('base64url');
    const same = (one: Pending) => one.session === signedIn.id && one.digest === digest;
    if (brought?.state === 'confirmed' && same(brought)) {
      this.#drop(brought);
      return undefined;
    }
    // A repeated act gets its pending confirmation again: no flood of the panel, and two answers of one page do not
    // undo each other.
    const there = () => [...this.#pending.values()].find((one) => same(one) && one.state !== 'confirmed');
    const again = brought !== undefined;
    if (there()?.state === 'refused')
      return new CoreError('CALLER_DENIED', { verb: act.what, reason: 'it was refused; ask again in two minutes' });
    if (act.act.length > LONGEST) return tooLong(act);
    // The same call may have come in while it was asked.
    const about = there() ? undefined : await act.about?.();
    return this.#required(there() ?? this.#begin(act, about, digest, signedIn.id), again);
  }

  /** Open confirmations, the newest first. */
  waiting(): readonly Waiting[] {
    this.#sweep();
    const open = [...this.#pending.values()].filter(({ state }) => state === 'open').reverse();
    return open.map(({ id, session, operation, what, act, names, about, ms, until }) => ({
      id,
      session,
      operation,
      what,
      act,
      names,
      about,
      ms,
      until,
    }));
  }

  /** Nobody can be asked any more: what it was about has been decided. */
  forget(id: string): void {
    const found = this.#pending.get(id);
    if (found?.state === 'open') this.#drop(found);
  }

  /** Somebody who may has answered. */
  settle(id: string, state: 'confirmed' | 'refused'): void {
    const found = this.#pending.get(id);
    if (found?.state !== 'open') return;
    found.state = state;
    this.#tell(found);
  }

  /** That of this session. Throws CALLER_DENIED: it is late, used, or another's. */
  check(id: string, session: string | undefined): void {
    this.#sweep();
    if (this.#pending.get(id)?.session !== session || session === undefined)
      throw new CoreError('CALLER_DENIED', {
        verb: 'confirm it',
        reason: 'there is no such question of this page any more',
      });
  }

  /** State of a confirmation; waits for an answer at most `ms`. */
  async outcome(id: string, session: string | undefined, ms: number, gone: AbortSignal): Promise<ConfirmationState> {
    this.#sweep();
    const found = this.#pending.get(id);
    if (found === undefined || found.session !== session) return 'gone';
    if (found.state === 'open') {
      const { promise, resolve } = Promise.withResolvers<void>();
      using _late = this.#options.clock.after(ms, resolve);
      found.waiters.add(resolve);
      gone.addEventListener('abort', () => resolve(), { once: true });
      if (!gone.aborted) await promise;
      found.waiters.delete(resolve);
    }
    return this.#pending.has(id) ? found.state : 'gone';
  }

  /** The session has ended, and what it asked for with it. */
  end(session: string): void {
    for (const one of [...this.#pending.values()]) if (one.session === session) this.#drop(one);
  }

  #begin(act: SensitiveAct, about: ActSubject | undefined, digest: string, session: string): Pending {
    const { operation, what, names } = act;
    const mine = [...this.#pending.values()].filter((one) => one.session === session);
    if (mine.length >= MOST_OF_ONE) this.#drop(mine[0]!);
    const [oldest] = this.#pending.values();
    if (this.#pending.size >= MOST && oldest) this.#drop(oldest);
    const { clock, ask } = this.#options;
    const pending: Pending = {
      id: randomBytes(9).toString('base64url'),
      session,
      operation,
      what,
      act: act.act,
      names,
      about,
      digest,
      state: 'open',
      ms: VALID_MS,
      until: clock.now() + VALID_MS,
      ends: clock.steady() + VALID_MS,
      waiters: new Set(),
    };
    this.#pending.set(pending.id, pending);
    ask(pending);
    return pending;
  }

  #required({ id, what, act, operation, names, about, until }: Pending, again: boolean): CoreError {
    const ways = this.#options.panel() ? ['panel', 'code'] : ['code'];
    const reason = again
      ? 'what was confirmed is late, used, or was something else; confirm it anew'
      : `confirm it ${ways.length > 1 ? 'on the panel of the device or ' : ''}with a code of "devicectl web confirm"`;
    const shown = { act, operation, names, ...maybe({ about }) };
    return new CoreError('CONFIRMATION_REQUIRED', { what, reason, confirmation: id, ...shown, ways, until });
  }

  #drop(one: Pending): void {
    this.#pending.delete(one.id);
    this.#tell(one);
  }

  #tell(one: Pending): void {
    this.#options.over(one);
    for (const waiter of one.waiters) waiter();
  }

  #sweep(): void {
    const now = this.#options.clock.steady();
    for (const one of [...this.#pending.values()]) if (one.ends < now) this.#drop(one);
  }
}

function tooLong({ what }: SensitiveAct): CoreError {
  const reason = `it is too long to be shown whole (${LONGEST} characters), and so to be confirmed; devicectl can do it`;
  return new CoreError('CONFIRMATION_REQUIRED', { what, reason });
}
