import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import type { SlotName } from '@device-core/plugin-api/inside/boot-record';
import { IMAGE_LIST, imageHash, LONGEST_LIST, parseImage } from '@device-core/plugin-api/inside/image';
import { readBounded } from '@device-core/plugin-api/inside/image-folder';
import type { SlotInfo, Slots, SlotsStatus, StageProgress } from '@device-core/plugin-api/inside/services/slots';
import { type SlotPlaces, SlotWriter } from '@device-core/plugin-api/inside/slot-files';
import type { Writer } from './writer.ts';

/** Slots that are folders. What is to be read the Core reads itself: everybody may. */
export class FileSlots implements Slots {
  readonly #places: SlotPlaces;
  readonly #reader: SlotWriter;
  readonly #writer: Writer;

  constructor(places: SlotPlaces, writer: Writer) {
    this.#places = places;
    this.#reader = new SlotWriter(places);
    this.#writer = writer;
  }

  async status(): Promise<SlotsStatus> {
    return { provider: 'files', ...this.#reader.status(), writer: this.#writer.kind };
  }

  async stateForms() {
    const { slots } = this.#reader.status();
    return slots.filter(({ state }) => state !== 'empty').map(({ name, image }) => this.#listOf(name, image).state);
  }

  #listOf(name: SlotName, image: string | undefined) {
    const refused = (reason: string) => new CoreError('SLOTS_UNAVAILABLE', { verb: `read slot ${name}`, reason });
    try {
      const list = readBounded(join(this.#places.system, 'slots', name, IMAGE_LIST), LONGEST_LIST);
      if (imageHash(list) === image) return parseImage(list);
    } catch (error) {
      throw refused(reasonOf(error));
    }
    throw refused('its list is not the one of the record');
  }

  async inspect(folder: string) {
    return (await this.#writer.ask({ verb: 'inspect', folder: await plain(folder) })) as Awaited<
      ReturnType<Slots['inspect']>
    >;
  }

  async stage(
    folder: string,
    options: { readonly progress?: (progress: StageProgress) => void; readonly signal?: AbortSignal } = {},
  ): Promise<SlotInfo> {
    return (await this.#writer.ask({ verb: 'stage', folder: await plain(folder) }, options)) as SlotInfo;
  }

  async activate(slot: SlotName): Promise<void> {
    await this.#writer.ask({ verb: 'activate', slot });
  }

  async markGood(): Promise<void> {
    await this.#writer.ask({ verb: 'markGood' });
  }

  async markBad(reason: string): Promise<void> {
    await this.#writer.ask({ verb: 'markBad', reason: reason.slice(0, 4_096) });
  }
}

/** Resolves links, so that writes go through none. */
async function plain(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (error) {
    throw new CoreError('SYSTEM_IMAGE_INVALID', { source: folder, reason: reasonOf(error) });
  }
}
