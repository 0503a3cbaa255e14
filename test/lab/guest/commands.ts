import { DrivenPanel } from '@device-core/plugin-api/panel-driver';
import type { Rect } from '@device-core/plugin-api/scene';
import type { PixelFormat } from '@device-core/plugin-api/services/panel';
import { openCard } from '../../../plugins/display/panel-drm/node.ts';
import { Screen } from '../../../plugins/display/panel-drm/screen.ts';
import { Framebuffer } from '../../../plugins/display/panel-fbdev/framebuffer.ts';
import { openNode } from '../../../plugins/display/panel-fbdev/node.ts';
import { painted } from '../../contracts/panel.ts';
import { part } from '../../fixtures/scope.ts';

type Command = (params: Readonly<Record<string, unknown>>) => Promise<unknown>;

const { scope, log, logged } = part();
let panel: DrivenPanel | undefined;
let seq = 0;

const there = (): DrivenPanel => {
  if (!panel) throw new Error('no panel is open');
  return panel;
};

export const COMMANDS: Readonly<Record<string, Command>> = {
  async fbdev({ device }) {
    const path = String(device);
    panel = await DrivenPanel.start({
      scope,
      log,
      name: path,
      open: async () => Framebuffer.open(await openNode(path), undefined),
    });
    return await panel.info();
  },
  async drm({ format = 'xrgb8888' }) {
    const path = '/dev/dri/card0';
    panel = await DrivenPanel.start({
      scope,
      log,
      name: path,
      open: async () =>
        Screen.open({
          scope,
          card: await openCard(path),
          light: undefined,
          format: format as PixelFormat,
          flipMs: 20_000,
        }),
      limitMs: 60_000,
    });
    return await panel.info();
  },
  async present({ rects, seed }) {
    const { format } = await there().info();
    const parts = (rects as readonly Rect[]).map((rect, index) => painted(rect, format, Number(seed) + index));
    const pixels = new Uint8Array(Buffer.concat(parts));
    return await there().present({ seq: ++seq, rects: rects as readonly Rect[], pixels });
  },
  async power({ on }) {
    await there().power(on === true);
  },
  async logged() {
    return logged;
  },
};
