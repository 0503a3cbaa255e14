/** The screen of a turn: it comes with the wake phrase, follows the turn, and goes when the answer can have been read. */

import { type Logger, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Apps } from '@device-core/plugin-api/services/apps';
import type { Display } from '@device-core/plugin-api/services/display';
import type { Intents } from '@device-core/plugin-api/services/intents';
import type { Voice, VoiceState, VoiceTurn } from '@device-core/plugin-api/services/voice';
import type { Face } from './face.ts';
import { stringsOf } from './strings.ts';
import { BETWEEN, footOf, type TurnView, turnScene } from './turn-scene.ts';

export interface TurnScreenParts {
  readonly scope: Scope;
  readonly log: Logger;
  readonly display: Display;
  readonly face: Face;
  readonly voice: () => Voice | undefined;
  readonly intents: () => Intents | undefined;
  readonly apps: () => Apps | undefined;
}

const SURFACE = 'turn';
const FADE_MS = 160;
/** To read the answer once more after it was heard: so long, and so much for each character. */
const LEAST_READ_MS = 2_500;
const READ_MS = 25;
const MOST_READ_MS = 8_000;
/** The turn that is asked for is among these. */
const NEWEST = 5;
const EXAMPLES = 3;

export class TurnScreen {
  readonly #parts: TurnScreenParts;
  #view: TurnView | undefined;
  #leaving: Disposable | undefined;
  #examples: readonly string[] = [];
  /** The scene on the screen, as text: what looks the same is not put again. */
  #shown: string | undefined;
  #drawing = false;
  #stale = false;

  constructor(parts: TurnScreenParts) {
    this.#parts = parts;
  }

  /** A wake phrase was heard, or a button pressed. */
  wake(turn: string): void {
    this.#begin(turn, 'listening');
  }

  state(state: VoiceState, turn: string | undefined): void {
    const own = turn !== undefined && this.#view?.turn === turn;
    if (state === 'listening' && turn !== undefined) this.#begin(turn, 'listening');
    else if (state === 'thinking' && turn !== undefined) {
      this.#begin(turn, 'thinking');
      void this.#ask(turn);
    } else if (state === 'speaking' && own) {
      this.#change({ phase: 'speaking' });
      void this.#ask(turn);
    } else if (this.#view && this.#view.phase !== 'over' && state !== 'speaking') {
      this.#change({ phase: 'over' });
      void this.#ask(this.#view.turn);
    }
  }

  words(turn: string, heard: string, stage: 'local' | 'cloud'): void {
    if (this.#view?.turn === turn) this.#change({ heard, stage });
  }

  /** Something was touched: the button, or anything else. */
  touched(tap: string | undefined): void {
    const { voice, log } = this.#parts;
    const view = this.#view;
    const told = (work: Promise<void> | undefined) =>
      work?.catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'the voice does not do what was touched'));
    if (tap === 'mute') void told(voice()?.mute(true));
    else if (view && view.phase !== 'over') void told(voice()?.stop(view.turn));
    this.leave();
  }

  /** Drops the example sentences, because the intents have changed. */
  forgetExamples(): void {
    this.#examples = [];
  }

  /** Text scale, theme or language are others. */
  redraw(): void {
    void this.#draw();
  }

  leave(): void {
    this.#leaving?.[Symbol.dispose]();
    this.#leaving = undefined;
    this.#view = undefined;
    void this.#draw();
  }

  #begin(turn: string, phase: 'listening' | 'thinking'): void {
    this.#leaving?.[Symbol.dispose]();
    this.#leaving = undefined;
    if (this.#view?.turn === turn) {
      this.#change({ phase });
      return;
    }
    const { display, log } = this.#parts;
    this.#view = { turn, phase, examples: this.#examples };
    void this.#draw();
    display.wake('voice').catch((error) => log.debug({ reason: reasonOf(error) }, 'the panel was not lit'));
    if (this.#examples.length === 0) void this.#learn();
  }

  #change(change: Partial<TurnView>): void {
    if (!this.#view) return;
    this.#view = { ...this.#view, ...change };
    void this.#draw();
  }

  /** Fetches the state of the turn from the voice. */
  async #ask(id: string): Promise<void> {
    const { voice, face, log } = this.#parts;
    try {
      const found = (await voice()?.turns(NEWEST))?.find(({ turn }) => turn === id);
      if (this.#view?.turn !== id) return;
      if (!found) {
        if (this.#view.phase === 'over') this.leave();
        return;
      }
      const { heard, said, stage, outcome, plan } = found;
      const { phase } = this.#view;
      this.#change({
        ...maybe({ heard, stage }),
        ...(said !== undefined && phase !== 'thinking' && { said }),
        outcome,
      });
      if (phase === 'speaking' && !plan) face.doubt();
      if (phase === 'over') this.#end(found);
      if (plan) await this.#name(id, plan.intent);
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, 'the voice does not tell of its turn');
      if (this.#view?.turn === id && this.#view.phase === 'over') this.leave();
    }
  }

  #end({ turn, outcome, said }: VoiceTurn): void {
    const { face, scope } = this.#parts;
    face.after(outcome);
    if (outcome === 'silent' || outcome === 'cancelled') {
      this.leave();
      return;
    }
    const ms = Math.min(MOST_READ_MS, LEAST_READ_MS + READ_MS * (said?.length ?? 0));
    this.#leaving = scope.timeout('to read the answer', ms, () => {
      if (this.#view?.turn === turn) this.leave();
    });
  }

  /** Shows the title of the app that owns the intent. */
  async #name(turn: string, intent: string): Promise<void> {
    const { intents, apps } = this.#parts;
    const known = (await intents()?.list())?.find(({ id }) => id === intent);
    const [, app] = /^app:(.+)$/.exec(known?.owner ?? '') ?? [];
    if (app === undefined) return;
    const title = (await apps()?.status(app))?.title;
    if (title !== undefined && this.#view?.turn === turn) this.#change({ app: title });
  }

  async #learn(): Promise<void> {
    const { intents, log } = this.#parts;
    try {
      const list = (await intents()?.list()) ?? [];
      // Intents of apps come first: they are less known than those of the device.
      const apps = list.filter(({ owner }) => owner.startsWith('app:'));
      const others = list.filter(({ owner }) => !owner.startsWith('app:'));
      this.#examples = [...apps, ...others].slice(0, EXAMPLES).map(({ example }) => example);
      this.#change({ examples: this.#examples });
    } catch (error) {
      log.debug({ reason: reasonOf(error) }, 'the list of sentences is not available');
    }
  }

  async #widths(words: readonly string[]): Promise<(text: string) => number> {
    const texts = [words.join(BETWEEN), ...words].filter((text) => text !== '');
    if (texts.length === 0) return () => 0;
    const sizes = await this.#parts.display.measure(texts.map((text) => ({ text, role: 'caption' })));
    const widths = new Map(texts.map((text, index) => [text, sizes[index]!.width]));
    return (text) => widths.get(text) ?? 0;
  }

  /** One after the other; what came meanwhile is drawn together. */
  async #draw(): Promise<void> {
    this.#stale = true;
    if (this.#drawing) return;
    this.#drawing = true;
    const { display, log } = this.#parts;
    try {
      while (this.#stale) {
        this.#stale = false;
        const { locale, textScale } = await display.surroundings();
        const view = this.#view;
        if (view) {
          const strings = stringsOf(locale);
          const widthOf = await this.#widths(footOf(view, strings));
          const scene = turnScene(view, { strings, textScale, widthOf });
          const text = JSON.stringify(scene);
          if (text === this.#shown) continue;
          const fade = this.#shown === undefined ? { fadeMs: FADE_MS } : {};
          this.#shown = text;
          await display.put({ id: SURFACE, layer: 'voice', scene, modal: true, ...fade });
        } else if (this.#shown !== undefined) {
          this.#shown = undefined;
          await display.remove(SURFACE);
        }
      }
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, 'the turn cannot be shown');
    } finally {
      this.#drawing = false;
    }
  }
}
