/** Shows the open questions one at a time and answers them. What is on the panel is a view: the questions are `prompts`'s. */
import { CoreError, type PluginHost, reasonOf } from '@device-core/plugin-api';
import { inTurn, optionalIn } from '@device-core/plugin-api/inside/consent';
import type { PanelAnswers } from '@device-core/plugin-api/inside/services/panel-answers';
import type { Display, SurfaceInput } from '@device-core/plugin-api/services/display';
import type { Prompt, Prompts } from '@device-core/plugin-api/services/prompts';
import { ARMED_MS, chosenOf, itemTap, promptScene, TAP } from './prompt-scene.ts';
import type { Asked, Refusal } from './spoken.ts';

const SURFACE = 'prompt';
const GO_MS = 150;
/** A page that got its yes asks again within moments. */
const SPARED_MS = 5_000;
/** Keys of the device that answer, where it has them. */
const KEYS: Readonly<Record<string, string>> = { ok: TAP.yes, back: TAP.no };

interface Want {
  readonly id: string;
  readonly page: number;
  /** Optional capabilities that the person switched off. */
  readonly off: ReadonlySet<string>;
}

interface Shown {
  readonly prompt: Prompt;
  readonly page: number;
  readonly pages: number;
  readonly off: ReadonlySet<string>;
  readonly armed: boolean;
  /** Version of the surface. */
  readonly version: number;
  readonly round: number;
}

type Fate = 'answered' | 'late' | 'failed';

export class PromptView implements Asked {
  readonly #host: Pick<PluginHost, 'scope' | 'clock' | 'log'>;
  readonly #display: Display;
  #prompts: Prompts | undefined;
  #answers: PanelAnswers | undefined;
  #open: readonly Prompt[] = [];
  #wanted: Want | undefined;
  #shown: Shown | undefined;
  #busy = false;
  #again = false;
  #round = 0;
  #arming: Disposable | undefined;
  /** Answered, and not yet gone from the list. */
  readonly #answered = new Set<string>();
  /** Questions that a confirmed act is about to answer, each with the end of that time. */
  readonly #spared = new Map<string, Disposable>();
  readonly #changed: () => void;

  constructor(host: Pick<PluginHost, 'scope' | 'clock' | 'log'>, display: Display, changed: () => void) {
    this.#host = host;
    this.#display = display;
    this.#changed = changed;
    host.scope.defer('buttons of a question', () => {
      this.#arming?.[Symbol.dispose]();
      for (const timer of this.#spared.values()) timer[Symbol.dispose]();
    });
  }

  questions(prompts: Prompts | undefined): Promise<void> {
    this.#prompts = prompts;
    return this.look();
  }

  answers(answers: PanelAnswers | undefined): void {
    this.#answers = answers;
  }

  /** A question came, or is settled. */
  async look(): Promise<void> {
    this.#open = (await this.#prompts?.list()) ?? [];
    for (const id of this.#answered) if (!this.#open.some((one) => one.id === id)) this.#answered.delete(id);
    for (const [id, timer] of this.#spared)
      if (!this.#open.some((one) => one.id === id)) {
        timer[Symbol.dispose]();
        this.#spared.delete(id);
      }
    this.#choose();
    this.#changed();
  }

  get asks(): boolean {
    return this.#open.length > 0;
  }

  /** The question that stands on the panel, with nothing allowed. One that has just come under the sentence is not meant by it. */
  async refuse(): Promise<Refusal> {
    const shown = this.#shown;
    if (!shown || this.#answered.has(shown.prompt.id)) return { outcome: 'none' };
    const { prompt, armed } = shown;
    if (!armed) return { outcome: 'early' };
    const fate = await this.#answer(shown, []);
    if (fate === 'late') return { outcome: 'none' };
    return { outcome: fate === 'answered' ? 'refused' : 'failed', prompt };
  }

  async show(): Promise<Prompt | undefined> {
    const wanted = this.#wanted;
    const prompt = wanted && this.#open.find(({ id }) => id === wanted.id);
    if (!wanted || !prompt) return undefined;
    await this.#display.wake('prompt');
    if (this.#wanted === wanted && wanted.page > 0) this.#want({ ...wanted, page: 0 });
    return prompt;
  }

  /** Theme, text scale or language changed. */
  again(): void {
    this.#round += 1;
    this.#choose();
  }

  touched({ phase, tap, key, scene }: SurfaceInput): void {
    const shown = this.#shown;
    if (!shown?.armed) return;
    // A finger that came down on what stood there before answers nothing.
    const what = phase === 'key' ? KEYS[key ?? ''] : phase === 'tap' && scene === shown.version ? tap : undefined;
    if (what === TAP.no) void this.#answer(shown, []);
    else if (what === TAP.yes || what === TAP.more) this.#forward(shown);
    else this.#switch(shown, what);
  }

  #switch({ prompt, page, off: former }: Shown, tap: string | undefined): void {
    const item = prompt.what.find((_, index) => itemTap(index) === tap);
    if (!item || !optionalIn(prompt).includes(item.capability)) return;
    const off = new Set(former);
    if (!off.delete(item.capability)) off.add(item.capability);
    this.#want({ id: prompt.id, page, off });
  }

  /** The next page, or on the last one the yes. */
  #forward(shown: Shown): void {
    const { prompt, page, pages, off } = shown;
    if (page < pages - 1) {
      this.#want({ id: prompt.id, page: page + 1, off });
      return;
    }
    const allow = chosenOf(prompt, off);
    if (allow.length > 0) void this.#answer(shown, allow);
  }

  async #answer({ prompt: { id, subject, about } }: Shown, allow: readonly string[]): Promise<Fate> {
    const { log } = this.#host;
    if (!this.#answers) return 'failed';
    if (this.#answered.has(id)) return 'late';
    this.#answered.add(id);
    this.#choose();
    const answers = allow.length > 0 ? about?.answers : undefined;
    // The page answers that question now, so the panel does not show it again for this moment.
    if (answers !== undefined) this.#spare(answers);
    try {
      await this.#answers.answer(id, allow);
      return 'answered';
    } catch (thrown) {
      // Another answer was faster; or the answer holds and is not on the disk, which /health says.
      const late = thrown instanceof CoreError && thrown.code === 'CONSENT_NOT_FOUND';
      if (late) log.info({ subject, question: id }, 'a question was answered elsewhere before');
      else log.error({ subject, question: id, reason: reasonOf(thrown) }, 'an answer of the panel failed');
      return late ? 'late' : 'failed';
    }
  }

  #spare(question: string): void {
    this.#spared.get(question)?.[Symbol.dispose]();
    const over = () => {
      this.#spared.delete(question);
      this.#choose();
    };
    this.#spared.set(question, this.#host.clock.after(SPARED_MS, over));
  }

  #want(want: Want): void {
    this.#wanted = want;
    this.#follow();
  }

  #choose(): void {
    const open = inTurn(this.#open.filter(({ id }) => !this.#answered.has(id) && !this.#spared.has(id)));
    const [first] = open;
    const same = open.find(({ id }) => id === this.#wanted?.id);
    // An act that waits for a yes comes before the question that stands there, and only then.
    const next = same && (same.kind === 'confirm' || first?.kind !== 'confirm') ? same : first;
    if (next?.id !== this.#wanted?.id) this.#wanted = next && { id: next.id, page: 0, off: new Set(optionalIn(next)) };
    this.#follow();
  }

  #follow(): void {
    this.#again = true;
    if (this.#busy) return;
    this.#busy = true;
    void this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    while (this.#again && !this.#host.scope.signal.aborted) {
      this.#again = false;
      try {
        await this.#draw();
      } catch (thrown) {
        if (this.#host.scope.signal.aborted) break;
        this.#host.log.error({ reason: reasonOf(thrown) }, 'cannot show a question: devicectl prompts does');
      }
    }
    this.#busy = false;
  }

  async #draw(): Promise<void> {
    const wanted = this.#wanted;
    const prompt = wanted && this.#open.find(({ id }) => id === wanted.id);
    if (!wanted || !prompt) return this.#leave();
    const former = this.#shown;
    const { page, off } = wanted;
    const isSame = former?.prompt.id === prompt.id && former.page === page && former.round === this.#round;
    if (isSame && former.off === off) return;
    this.#arming?.[Symbol.dispose]();
    // The same page with another switch is what the person looks at already.
    const armed = isSame && former.armed;
    const round = this.#round;
    if (former?.prompt.id !== prompt.id) await this.#display.wake('prompt');
    const { scene, pages } = await promptScene(this.#display, prompt, { page, off, armed });
    const surface = { id: SURFACE, layer: 'prompt', scene, modal: true, fadeMs: former ? 0 : GO_MS } as const;
    const version = await this.#display.put(surface);
    this.#shown = { prompt, page, pages, off, armed, version, round };
    if (!armed) this.#arming = this.#host.clock.after(ARMED_MS, () => void this.#arm(version));
  }

  async #arm(version: number): Promise<void> {
    const shown = this.#shown;
    if (shown?.version !== version) return;
    const { prompt, page, off } = shown;
    try {
      const { scene } = await promptScene(this.#display, prompt, { page, off, armed: true });
      if (this.#shown?.version !== version) return;
      const armed = await this.#display.put({ id: SURFACE, layer: 'prompt', scene, modal: true });
      if (this.#shown?.version === version) this.#shown = { ...shown, armed: true, version: armed };
    } catch (thrown) {
      if (!this.#host.scope.signal.aborted)
        this.#host.log.error({ reason: reasonOf(thrown) }, 'a question takes no touch: devicectl answers it');
    }
  }

  async #leave(): Promise<void> {
    this.#arming?.[Symbol.dispose]();
    if (!this.#shown) return;
    this.#shown = undefined;
    await this.#display.remove(SURFACE);
  }
}
