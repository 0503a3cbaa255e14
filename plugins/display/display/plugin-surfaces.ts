/** The service `display` as each plugin sees it: its own surfaces, in the layers that are its own. */
import { CoreError, FOR_USER, maybe, type ServesEachUser, type ServiceUser } from '@device-core/plugin-api';
import { imageSize } from '@device-core/plugin-api/scene';
import type { Display, PluginSurface, SurfaceInput } from '@device-core/plugin-api/services/display';
import { LAYERS } from '@device-core/plugin-api/services/renderer';
import type { Screen } from './screen.ts';

/** Layers that only one plugin of the tree draws on. An OEM replaces that plugin, or cannot. */
const OWNERS: Readonly<Partial<Record<keyof typeof LAYERS, string>>> = {
  banner: 'notify',
  toast: 'notify',
  prompt: 'system-view',
  system: 'system-view',
};
const ID = /^[a-z0-9][a-z0-9._-]{0,63}$/i;
/** Maximum surfaces of one plugin at the same time. */
const MOST_SURFACES = 64;

type Listener = (surface: string, input: SurfaceInput) => void;

export class PluginSurfaces implements ServesEachUser<Display> {
  readonly #screen: Screen;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  [FOR_USER](user: ServiceUser): Display {
    return this.view(user);
  }

  view(user: Pick<ServiceUser, 'plugin' | 'outside'> & Partial<ServiceUser>): Display {
    const screen = this.#screen;
    const own = `${user.plugin}:`;
    const measured: ServiceUser['measured'] = (kind, fn) => user.measured?.(kind, fn) ?? fn;
    return {
      put: (surface) => this.#put(user, surface),
      patch: async (id, patch) => screen.patch(own + id, patch, id),
      remove: async (id) => screen.remove(own + id),
      onInput: (listener) => this.#listen(own, measured('event', listener)),
      image: async (bytes) => {
        const copy = Uint8Array.from(bytes);
        return await screen.addImage(own, copy, imageSize(copy, 'image'));
      },
      measure: (texts) => screen.measure(texts),
      surroundings: async () => screen.tree.surroundings,
      onSurroundings: (listener) => screen.onSurroundings(measured('event', listener)),
      state: async () => screen.state,
      onState: (listener) => screen.onState(measured('event', listener)),
      pose: async (pose) => screen.tree.strike(pose),
      dress: async (figure) => screen.tree.dress(figure),
      levels: (levels) => screen.levels(levels),
      open: async (app) => {
        if (!screen.focus) throw new CoreError('APP_NOT_RUNNING', { app, reason: 'no app can show anything' });
        await screen.focus.open(app);
      },
      home: async () => screen.leave(),
      wake: (reason) => screen.light.wake(reason),
      power: (power) => screen.light.power(power),
      brightness: async (level) => void (await screen.light.brightness(level)),
      describe: async () => screen.reader.describe(),
    };
  }

  /** To the plugin that drew it. False where it is of none. */
  deliver(surface: string, input: SurfaceInput): boolean {
    const split = surface.indexOf(':') + 1;
    const listeners = this.#listeners.get(surface.slice(0, split));
    if (!listeners) return false;
    for (const listener of [...listeners]) listener(surface.slice(split), input);
    return true;
  }

  /** A plugin has stopped: nothing of it stays on the glass. */
  gone(plugin: string): void {
    const own = `${plugin}:`;
    for (const { surface } of this.#screen.tree.rows) if (surface.id.startsWith(own)) this.#screen.remove(surface.id);
    this.#screen.dropImages(own);
  }

  async #put(user: Pick<ServiceUser, 'plugin' | 'outside'>, surface: PluginSurface): Promise<number> {
    const { id, layer, scene: given, box, fadeMs, modal, sensitive } = surface;
    const screen = this.#screen;
    if (!ID.test(id)) throw invalid('id', `${JSON.stringify(id)} is no name of a surface: ${ID.source}`);
    if (!Object.hasOwn(LAYERS, layer) || (layer as string) === 'app')
      throw invalid('layer', `${JSON.stringify(layer)} is none of ${Object.keys(LAYERS).join(', ')} without app`);
    const owner = OWNERS[layer];
    if (owner !== undefined && (user.outside || user.plugin !== owner))
      throw invalid(
        'layer',
        `${layer} is of plugin ${owner}${user.outside ? ' of the tree' : ''}, not of ${user.plugin}`,
      );
    const own = `${user.plugin}:`;
    const full = `${own}${id}`;
    const count = screen.tree.rows.filter((row) => row.surface.id.startsWith(own) && row.surface.id !== full).length;
    if (count >= MOST_SURFACES)
      throw invalid('id', `${user.plugin} has ${count} surfaces, ${MOST_SURFACES} are the limit`);
    const { scene, card } = await screen.cards.draw(given, id);
    screen.cards.keep(full, card);
    return screen.put({
      id: full,
      layer: LAYERS[layer],
      scene,
      modal: modal === true || layer === 'prompt',
      sensitive: sensitive === true,
      ...maybe({ box, fadeMs }),
    });
  }

  #listen(own: string, listener: Listener): Disposable {
    const listeners = this.#listeners.get(own) ?? new Set();
    this.#listeners.set(own, listeners.add(listener));
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0 && this.#listeners.get(own) === listeners) this.#listeners.delete(own);
      },
    };
  }
}

function invalid(where: string, reason: string): CoreError {
  return new CoreError('PARAMS_INVALID', { where, reason });
}
