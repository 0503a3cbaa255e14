/** `Renderer` by Skia. */

import { type Clock, CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Rect } from '@device-core/plugin-api/scene';
import type {
  AudioLevel,
  Opening,
  Renderer,
  Surroundings,
  TextQuestion,
  TextSize,
  TreePatch,
} from '@device-core/plugin-api/services/renderer';
import { EMPTY_TREE, patched } from '../shared/tree.ts';
import { streamOf } from './build.ts';
import type { FontFile } from './fonts.ts';
import { Fonts } from './fonts.ts';
import { Images } from './images.ts';
import { Screen } from './screen.ts';
import { directionIn } from './shown.ts';
import { Texts } from './text.ts';

export class SkiaRenderer implements Renderer {
  readonly #scope: Scope;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #fonts: Fonts;
  readonly #texts: Texts;
  readonly #images = new Images();
  #screen: Screen | undefined;
  #problem: string | undefined;

  constructor(scope: Scope, log: Logger, packs: readonly FontFile[]) {
    this.#scope = scope;
    this.#clock = scope.clock;
    this.#log = log;
    this.#fonts = new Fonts(packs);
    this.#texts = new Texts(this.#fonts);
  }

  /** Problems for the operator; empty where all is well. */
  get problems(): readonly string[] {
    return [...this.#fonts.problems, ...(this.#problem === undefined ? [] : [this.#problem])];
  }

  async open(opening: Opening): Promise<AsyncDisposable> {
    await this.close();
    const screen = new Screen(opening, {
      scope: this.#scope.child('screen'),
      clock: this.#clock,
      texts: this.#texts,
      images: this.#images,
      missing: () => this.#fonts.missing(),
      failed: (error) => this.#failed(error),
    });
    this.#screen = screen;
    return { [Symbol.asyncDispose]: () => (this.#screen === screen ? this.close() : Promise.resolve()) };
  }

  async close(): Promise<void> {
    const screen = this.#screen;
    this.#screen = undefined;
    this.#problem = undefined;
    await screen?.close();
  }

  async apply(patch: TreePatch): Promise<{ readonly frame: number }> {
    const screen = this.#opened();
    return { frame: screen.show(patched(screen.tree, patch)) };
  }

  async measure(texts: readonly TextQuestion[], surroundings?: Surroundings): Promise<readonly TextSize[]> {
    const drawn = surroundings ?? this.#screen?.tree.surroundings ?? EMPTY_TREE.surroundings;
    const otherwise = directionIn(drawn.locale);
    return texts.map((question) => this.#texts.measure(question, drawn, otherwise));
  }

  async image(name: string, bytes: Uint8Array): Promise<{ readonly width: number; readonly height: number }> {
    const size = await this.#images.add(name, bytes);
    this.#screen?.picture(name);
    return size;
  }

  async dropImages(names: readonly string[]): Promise<void> {
    this.#images.drop(names);
    for (const name of names) this.#screen?.picture(name);
  }

  async video(
    surface: string,
    stream: string,
    { width, height, rect, rgba }: Parameters<Renderer['video']>[2],
  ): Promise<void> {
    const screen = this.#opened();
    this.#images.part(streamOf(surface, stream), width, height, rect as Rect, rgba);
    screen.refresh(surface);
  }

  async levels(levels: readonly AudioLevel[]): Promise<void> {
    this.#opened().levels(levels);
  }

  async snapshot({ surface }: { readonly surface?: string } = {}): Promise<Uint8Array> {
    return await this.#opened().snapshot(surface);
  }

  async pause(paused: boolean): Promise<void> {
    this.#opened().pause(paused);
  }

  #opened(): Screen {
    if (this.#screen === undefined)
      throw new CoreError('UNAVAILABLE', { what: 'the screen', reason: 'it is not open' });
    return this.#screen;
  }

  #failed(err: unknown): void {
    // A frame on its way while the plugin stops is no problem.
    if (this.#scope.signal.aborted) return;
    const reason = reasonOf(err);
    if (reason !== this.#problem) this.#log.warn({ err }, 'a frame did not reach the panel; a whole one follows');
    this.#problem = reason;
  }
}
