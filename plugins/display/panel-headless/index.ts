import { CoreError, definePlugin } from '@device-core/plugin-api';
import { checkFrame, checkLevel, Glass, pictureOperation } from '@device-core/plugin-api/pixels';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import { operations } from '@device-core/plugin-api/services/operations';
import { type PanelInfo, type PixelFormat, panel } from '@device-core/plugin-api/services/panel';

interface Settings {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
}

export const plugin = definePlugin<{ operations: typeof operations }, Settings>({
  requires: { operations },
  setup(host, services) {
    const { width, height, format } = host.config;
    const info: PanelInfo = { driver: 'headless', width, height, format, refresh: 60, brightness: true, power: true };
    const glass = new Glass(info);
    let on = true;
    let busy = false;
    host.provide(panel, {
      info: async () => info,
      async present(frame) {
        if (busy) throw new CoreError('PANEL_UNAVAILABLE', { reason: 'it takes one frame at a time' });
        checkFrame(frame, info);
        busy = true;
        glass.put(frame);
        // As from a panel that has to be waited for: who presents sees other work run before it goes on.
        await new Promise<void>((resolve) => setImmediate(resolve));
        busy = false;
        return { at: monotonicMs() };
      },
      power: async (wanted) => {
        on = wanted;
      },
      brightness: async (level) => checkLevel(level),
      // Memory is never lost.
      onChange: () => ({ [Symbol.dispose]: () => undefined }),
    });
    const dark = new Glass(info);
    const operation = pictureOperation(() => (on ? glass : dark));
    host.scope.use(operation.name, services.operations.add(operation));
  },
});
