import type { Scope } from '@device-core/plugin-api';
import type { PixelFormat } from '@device-core/plugin-api/services/panel';
import { openCard } from '../../../plugins/display/panel-drm/node.ts';
import { Screen } from '../../../plugins/display/panel-drm/screen.ts';
import { Framebuffer } from '../../../plugins/display/panel-fbdev/framebuffer.ts';
import { openNode } from '../../../plugins/display/panel-fbdev/node.ts';

/** This machine is slow, and what it does at once may take seconds. */
const FLIP_MS = 10_000;

export async function openScreen(scope: Scope, format: PixelFormat): Promise<Screen> {
  const card = await openCard('/dev/dri/card0');
  return await Screen.open({ scope, card, light: undefined, format, flipMs: FLIP_MS });
}

export async function openFramebuffer(): Promise<Framebuffer> {
  return await Framebuffer.open(await openNode('/dev/fb0'), undefined);
}
