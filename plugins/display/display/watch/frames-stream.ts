/** display.frames: the panel's picture, for a watcher far away. */
import { CoreError } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { StreamEndpoint } from '@device-core/plugin-api/services/operations';
import { type FrameWatch, seesAll, type Watching } from './frame-watch.ts';

export function framesStream(watch: FrameWatch): StreamEndpoint<Watching> {
  return {
    name: 'display.frames',
    summary:
      'What the panel shows: at first all of it, then what changed. Of each frame comes a line of JSON {width, height, format, rects, bytes}. Then come `bytes` of the rows ' +
      'of its rectangles, in the format of the panel. With `encoding: deflate` the rows are packed as raw DEFLATE (RFC 1951). The line has `seq` then, which counts the ' +
      'frames from 1, and `at`, milliseconds since the Unix epoch when the panel got them. While the panel shows a code to pair a browser, only the operator sees it: ' +
      'others get one black frame with `masked`. What a reader has no credit for adds up to one frame',
    direction: 'read',
    capability: 'system.display',
    params: exactly(
      {
        encoding: { enum: ['raw', 'deflate'], default: 'raw' },
        fps: {
          type: 'integer',
          minimum: 1,
          maximum: 60,
          description: 'frames a second at most; as they come if absent',
        },
      },
      [],
    ),
    async run(params, channel, { caller }) {
      const session = caller.signedIn?.id;
      const limit = watch.limit(session);
      if (limit !== undefined) throw new CoreError('STREAM_LIMIT', { stream: 'display.frames', limit });
      await watch.watch(channel, { ...params, clear: seesAll(caller) }, session);
    },
  };
}
