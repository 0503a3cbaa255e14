/** display.images: the bytes of one image over the app socket. Its name is the hash of them, which the app can tell by itself. */
import { CoreError } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import { IMAGE_LIMITS, imageSize } from '@device-core/plugin-api/scene';
import type { StreamEndpoint } from '@device-core/plugin-api/services/operations';
import type { AppSurfaces } from './app-surfaces.ts';
import type { Screen } from './screen.ts';

export function imageStream(screen: Screen, apps: AppSurfaces): StreamEndpoint<never> {
  return {
    name: 'display.images',
    summary:
      'One image for scenes and cards: a PNG, JPEG or WebP; its name is sha256- and the hash of its bytes. It ends when the image is taken',
    direction: 'write',
    capability: 'display.surface',
    params: exactly({}),
    async run(_params, { incoming }, { caller }) {
      const pieces: Uint8Array[] = [];
      let bytes = 0;
      for await (const piece of incoming) {
        bytes += piece.length;
        if (bytes > IMAGE_LIMITS.bytes)
          throw new CoreError('BODY_TOO_LARGE', { limit: IMAGE_LIMITS.bytes, what: 'image' });
        pieces.push(piece);
      }
      const whole = Buffer.concat(pieces);
      await screen.addImage(apps.ownerOf(caller), whole, imageSize(whole, 'image'));
    },
  };
}
