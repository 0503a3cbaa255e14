/** The screen as it comes and goes: the queues and the list live on while plugin `display` starts again. */
import { CoreError } from '@device-core/plugin-api';
import type { Display } from '@device-core/plugin-api/services/display';

export type Screen = Pick<Display, 'put' | 'patch' | 'remove' | 'measure' | 'surroundings' | 'open'>;

export class Glass implements Screen {
  #display: Display | undefined;

  /** Undefined: there is none, and what is asked of it is refused with PANEL_UNAVAILABLE. */
  use(display: Display | undefined): void {
    this.#display = display;
  }

  readonly put: Screen['put'] = async (surface) => this.#there.put(surface);
  readonly patch: Screen['patch'] = async (surface, patch) => this.#there.patch(surface, patch);
  readonly remove: Screen['remove'] = async (surface) => this.#there.remove(surface);
  readonly measure: Screen['measure'] = async (texts) => this.#there.measure(texts);
  readonly surroundings: Screen['surroundings'] = async () => this.#there.surroundings();
  readonly open: Screen['open'] = async (app) => this.#there.open(app);

  get #there(): Display {
    if (this.#display) return this.#display;
    throw new CoreError('PANEL_UNAVAILABLE', { reason: 'plugin display is not there' });
  }
}
