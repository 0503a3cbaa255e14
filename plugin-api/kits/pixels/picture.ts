import type { Operation } from '../../services/operations.ts';
import { exactly, textOf } from '../operation-kit/index.ts';
import type { Glass } from './glass.ts';
import { encodePng } from './png.ts';

export interface PanelPicture {
  readonly png: string;
  readonly width: number;
  readonly height: number;
}

/** `panel.picture`, of panels that are memory: what somebody would see who looked at the glass now. */
export function pictureOperation(glass: () => Glass): Operation<object, PanelPicture> {
  return {
    name: 'panel.picture',
    summary: 'Picture of the panel of a development machine, as PNG',
    description: 'The pixels that arrived, and black where none did. It is encoded for this call.',
    capability: 'system.display',
    params: exactly({}),
    result: exactly({
      png: { type: 'string', contentEncoding: 'base64', contentMediaType: 'image/png' },
      width: { type: 'integer', description: 'pixels' },
      height: { type: 'integer' },
    }),
    rest: { method: 'GET', path: '/panel/picture' },
    errors: [],
    async run() {
      const shown = glass();
      const { width, height } = shown;
      return { png: textOf(await encodePng({ width, height, rgba: shown.rgba() })), width, height };
    },
  };
}
