/** Listeners of the microphone, and the sign for them. In doubt it is the full sign. Pure. */
import type { AudioState } from '@device-core/plugin-api/services/audio';
import type { Ear } from './signs.ts';

const VOICE = 'plugin:voice';
/** States in which no turn goes on. One that is not known is none of them. */
const RESTS: readonly unknown[] = ['idle', 'muted', 'error'];

export class Listeners {
  readonly titles = new Map<string, string>();
  #heard: Pick<AudioState, 'capturing' | 'muted'> = { capturing: [], muted: false };
  #voice: unknown;

  audio(state: Pick<AudioState, 'capturing' | 'muted'> | undefined): void {
    this.#heard = state ?? { capturing: [], muted: false };
  }

  /** State that the voice reports; undefined: unknown. */
  voice(state: unknown): void {
    this.#voice = state;
  }

  get voiceIsKnown(): boolean {
    return this.#voice !== undefined;
  }

  get ear(): Ear {
    const { capturing, muted } = this.#heard;
    const others = capturing.filter((owner) => owner !== VOICE);
    const own = capturing.length > others.length || this.#voice === 'listening';
    if (others.length === 0 && !own) return { state: muted ? 'muted' : 'free' };
    if (others.length === 0 && !muted && RESTS.includes(this.#voice)) return { state: 'name' };
    // Others first: a label has an end.
    return { state: 'heard', by: [...others, ...(own ? [VOICE] : [])].map((owner) => this.#nameOf(owner)) };
  }

  /** `app:com.example.ear` by the title of the app, `plugin:voice` by its id. */
  #nameOf(owner: string): string {
    const name = owner.slice(owner.indexOf(':') + 1);
    return (owner.startsWith('app:') ? this.titles.get(name)?.trim() : undefined) || name;
  }
}
