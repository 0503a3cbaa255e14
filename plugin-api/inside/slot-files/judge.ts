/** Whether an image may lie in a slot of this device: said of bytes that were read once, so that nothing changes between check and use. */
import type { BootRecord } from '../boot-record.ts';
import { type Image, ImageError, type ImageKeys, imageHash, type Platform, parseImage, verifyImage } from '../image.ts';
import { checkFit } from '../image-folder.ts';
import { SlotRefused } from './refused.ts';
import { isOlder } from './version-order.ts';

export interface Judging {
  readonly keys: ImageKeys;
  readonly floor: BootRecord['floor'];
  readonly platform: Platform;
  /** SKU that runs; absent where none runs yet. */
  readonly sku?: string | undefined;
}

export interface Judged {
  readonly image: Image;
  /** `sha256:<hex>` of the list. */
  readonly hash: string;
}

/** Throws SYSTEM_IMAGE_INVALID and SIGNATURE_INVALID. Nothing of the list is looked at before it is known who signed it. */
export function judge(list: Uint8Array, signatures: string, { keys, floor, platform, sku }: Judging): Judged {
  const hash = imageHash(list);
  try {
    verifyImage(hash, signatures, keys, floor.time);
    const image = parseImage(list);
    checkFit(image, platform);
    const problems: readonly (readonly [holds: boolean, problem: string])[] = [
      [sku === undefined || image.sku === sku, `it is of SKU ${image.sku}, and this device is ${sku}`],
      [
        floor.version === undefined || !isOlder(image.version, floor.version),
        `it is version ${image.version}, and nothing older than ${floor.version} is taken any more`,
      ],
    ];
    const wrong = problems.find(([holds]) => !holds);
    if (wrong !== undefined) throw new SlotRefused('SYSTEM_IMAGE_INVALID', wrong[1]);
    return { image, hash };
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new SlotRefused(error.part === 'signature' ? 'SIGNATURE_INVALID' : 'SYSTEM_IMAGE_INVALID', error.message);
  }
}
