/** Bytes of images by the hash of their content, kept for their owners and given to each renderer that opens. */
import { createHash } from 'node:crypto';
import { CoreError } from '@device-core/plugin-api';
import { imagesOf, type Scene } from '@device-core/plugin-api/scene';
import type { Renderer } from '@device-core/plugin-api/services/renderer';

interface Image {
  readonly bytes: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly owners: Set<string>;
}

export class Images {
  readonly #images = new Map<string, Image>();
  readonly #mostBytes: number;
  /** Names of images that a renderer already has. */
  readonly #given = new WeakMap<Renderer, Set<string>>();

  /** `mostBytes` of decoded pixels of one owner. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get(name: string): Uint8Array | undefined {
    return this.#images.get(name)?.bytes;
  }

  owns(name: string, owner: string): boolean {
    return this.#images.get(name)?.owners.has(owner) ?? false;
  }

  decodedBytes(owner: string): number {
    return [...this.#images.values()]
      .filter(({ owners }) => owners.has(owner))
      .reduce((sum, { width, height }) => sum + width * height * 4, 0);
  }

  /** Answers with its name. Throws IMAGE_INVALID where the owner has too many. */
  add(
    owner: string,
    bytes: Uint8Array,
    { width, height }: { readonly width: number; readonly height: number },
  ): string {
    const name = nameOf(bytes);
    const known = this.#images.get(name);
    if (known?.owners.has(owner)) return name;
    const decoded = this.decodedBytes(owner) + width * height * 4;
    if (decoded > this.#mostBytes) {
      const reason = `with it its images take ${decoded} bytes decoded, and ${this.#mostBytes} are the limit`;
      throw new CoreError('IMAGE_INVALID', { image: name, reason });
    }
    if (known) known.owners.add(owner);
    else this.#images.set(name, { bytes, width, height, owners: new Set([owner]) });
    return name;
  }

  /** Names of images that lost their last owner; the renderer may forget them. */
  drop(owner: string, name?: string): readonly string[] {
    const gone: string[] = [];
    for (const [key, { owners }] of this.#images) {
      if (name !== undefined && key !== name) continue;
      if (!owners.delete(owner) || owners.size > 0) continue;
      this.#images.delete(key);
      gone.push(key);
    }
    return gone;
  }

  /** Those of these scenes, or all; each once for a renderer that is open. */
  async give(renderer: Renderer, scenes?: readonly Scene[]): Promise<void> {
    const given = this.#given.get(renderer) ?? new Set();
    this.#given.set(renderer, given);
    const wanted = scenes ? scenes.flatMap((scene) => [...imagesOf(scene)]) : [...this.#images.keys()];
    for (const name of wanted) {
      const image = this.#images.get(name);
      if (!image || given.has(name)) continue;
      given.add(name);
      try {
        await renderer.image(name, image.bytes);
      } catch (error) {
        // Another renderer may read this image. Its owner got the error of the renderer that was open then.
        if (error instanceof CoreError && error.code === 'IMAGE_INVALID') continue;
        given.delete(name);
        throw error;
      }
    }
  }

  /** One image to a renderer that is open. Rejects with IMAGE_INVALID. */
  async hand(renderer: Renderer, name: string): Promise<void> {
    const image = this.#images.get(name);
    if (!image) return;
    await renderer.image(name, image.bytes);
    this.#given.get(renderer)?.add(name);
  }

  async take(renderer: Renderer, names: readonly string[]): Promise<void> {
    const gone = names.filter((name) => !this.#images.has(name));
    for (const name of gone) this.#given.get(renderer)?.delete(name);
    if (gone.length > 0) await renderer.dropImages(gone);
  }

  /** It begins anew: what it had, it has no longer. */
  forget(renderer: Renderer): void {
    this.#given.delete(renderer);
  }
}

export function nameOf(bytes: Uint8Array): string {
  return `sha256-${createHash('sha256').update(bytes).digest('hex')}`;
}
