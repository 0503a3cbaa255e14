/** The place that a banner takes from home: plugin `notify` draws it above, and a clock that is cut in half tells no time. */

import { buttons, foreignText, GRID, type Layout, PANEL_UNITS } from '@device-core/plugin-api/scene';
import type { Notification } from '@device-core/plugin-api/services/display';

/** As plugin `notify` places a card: a layout test compares the two. */
const TOP = 56;
const WIDTH = PANEL_UNITS - 4 * GRID.gap;
const PAD = 24;
const SIGN = 72;
const CROSS = 44;
const BAR = 10;

/** Lowest end of the banner that is shown; undefined: there is none. */
export async function bannerEnd(
  notifications: readonly Notification[],
  textScale: number,
  layout: Layout,
): Promise<number | undefined> {
  const banner = notifications.find(({ kind, state }) => kind === 'banner' && state === 'showing');
  if (banner === undefined) return undefined;
  const { text, progress, buttons: asked = [] } = banner;
  const width = WIDTH - 2 * PAD - SIGN - CROSS - 2 * PAD;
  const lines = asked.length > 0 ? 2 : Math.round(2 * textScale);
  const [body] = await layout.blocks({ text: foreignText(text), role: 'body', width, lines });
  const specs = asked.map((button, index) => ({ ...button, title: foreignText(button.title), primary: index === 0 }));
  const row = await buttons(specs, WIDTH - 2 * PAD, layout, 1);
  const told = Math.max(SIGN, Math.ceil(layout.line('caption')) + body.height);
  return TOP + PAD + told + (progress === undefined ? 0 : PAD + BAR) + (asked.length > 0 ? PAD + row.height : 0) + PAD;
}
