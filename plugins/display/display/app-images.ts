/** Images that a scene or a card of an app names: its own by their hash, or files of its package, which get one. */

import { CoreError, reasonOf } from '@device-core/plugin-api';
import { IMAGE_LIMITS, imageSize } from '@device-core/plugin-api/scene';
import type { Apps } from '@device-core/plugin-api/services/apps';
import type { Screen } from './screen.ts';

const HASH = /^sha256-[0-9a-f]{64}$/;
/** Members of scenes, patches and cards that name an image. */
const NAMES = ['image', 'icon'];

export class AppImages {
  readonly #screen: Screen;
  readonly #apps: () => Pick<Apps, 'file'> | undefined;
  /** Files that were read, by app: an installed package does not change while its app runs. */
  readonly #files = new Map<string, Map<string, string>>();

  constructor(screen: Screen, apps: () => Pick<Apps, 'file'> | undefined) {
    this.#screen = screen;
    this.#apps = apps;
  }

  /** The value with the hash in the place of each file. Throws SCENE_INVALID with the place of an image that is not there. */
  async resolved<T>(owner: string, app: string | undefined, value: T, what: string): Promise<T> {
    const wanted = new Map<string, string>();
    look(value, '', (name, at) => {
      if (!wanted.has(name)) wanted.set(name, at);
    });
    const names = new Map<string, string>();
    for (const [name, where] of wanted) {
      if (!HASH.test(name)) names.set(name, await this.#ofFile(owner, app, name, what, where));
      else if (!this.#screen.images.owns(name, owner))
        throw new CoreError('SCENE_INVALID', {
          what,
          where,
          reason: `there is no image ${name}; hand it over by display.image`,
        });
    }
    return names.size === 0 ? value : (replaced(value, names) as T);
  }

  forget(app: string): void {
    this.#files.delete(app);
  }

  async #ofFile(owner: string, app: string | undefined, path: string, what: string, where: string): Promise<string> {
    const known = app === undefined ? undefined : this.#files.get(app)?.get(path);
    if (known !== undefined && this.#screen.images.owns(known, owner)) return known;
    const apps = this.#apps();
    const refuse = (reason: string) => new CoreError('SCENE_INVALID', { what, where, reason: `${path}: ${reason}` });
    if (app === undefined || !apps) throw refuse('there is no package to look in');
    try {
      const bytes = await apps.file(app, path, IMAGE_LIMITS.bytes);
      const name = await this.#screen.addImage(owner, Uint8Array.from(bytes), imageSize(bytes, path));
      const files = this.#files.get(app) ?? new Map<string, string>();
      this.#files.set(app, files.set(path, name));
      return name;
    } catch (error) {
      throw refuse(reasonOf(error));
    }
  }
}

function look(value: unknown, at: string, found: (name: string, at: string) => void): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) look(item, `${at}/${index}`, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const [member, inner] of Object.entries(value)) {
      if (isName(member, inner)) found(inner, `${at}/${member}`);
      else look(inner, `${at}/${member}`, found);
    }
  }
}

function replaced(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => replaced(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]) => [
      member,
      isName(member, inner) ? (names.get(inner) ?? inner) : replaced(inner, names),
    ]),
  );
}

function isName(member: string, value: unknown): value is string {
  return NAMES.includes(member) && typeof value === 'string';
}
