/** A toast: at the bottom, it rises from the edge. Title and sign of the app are drawn here, whatever the app says. */
import type { Display } from '@device-core/plugin-api';
import {
  directionOfLocale,
  foreignLabel,
  foreignText,
  GRID,
  PANEL_UNITS,
  type Scene,
  type SceneNode,
} from '@device-core/plugin-api/scene';
import { CARD, comes, EDGE, goes, LEVEL_WORDS, PAD, SIGN, sign, WIDTH } from './parts.ts';
import type { Drawing } from './stage.ts';
import type { Toast } from './toast-queue.ts';

const W = WIDTH - 2 * EDGE;
const GAP = GRID.gap + GRID.unit;
/** Room for the shadow, and for the way that it comes. */
const ROOM = 48;
export const TAP = 'dismiss';

/** `title` is the real one of the app; absent: the device speaks. */
export async function toastScene(
  display: Pick<Display, 'measure' | 'surroundings'>,
  toast: Toast,
  {
    title,
    device,
    entering,
  }: { readonly title: string | undefined; readonly device: string; readonly entering: boolean },
): Promise<Drawing> {
  const { locale } = await display.surroundings();
  const name = foreignText(title ?? device);
  const text = foreignText(toast.text);
  const times = toast.count > 1 ? `×${toast.count}` : undefined;
  const width = W - 2 * PAD - SIGN - GAP;
  const [head, body, badge] = await display.measure([
    { text: name, role: 'caption', width, lines: 1 },
    { text, role: 'body', width, lines: 2 },
    { text: times ?? '', role: 'caption', weight: 700 },
  ]);
  const headHeight = Math.ceil(head?.height ?? 34);
  const bodyHeight = Math.ceil(body?.height ?? 44);
  const inner = Math.max(SIGN, headHeight + bodyHeight);
  const h = inner + 2 * PAD;
  const badgeWidth = times === undefined ? 0 : Math.ceil(badge?.width ?? 0) + 20;
  const mirrored = directionOfLocale(locale) === 'rtl';
  const at = (x: number, w: number) => (mirrored ? W - x - w : x);
  const left = PAD + SIGN + GAP;
  const top = PAD + (inner - headHeight - bodyHeight) / 2;
  const dir = mirrored ? 'rtl' : 'ltr';
  const nodes: SceneNode[] = [
    {
      ...{ kind: 'rect', w: W, h, radius: GRID.radius, fill: '@raised' },
      ...{ stroke: toast.level === 'error' ? '@error' : '@line', strokeWidth: toast.level === 'error' ? 3 : 2 },
      shadow: { y: 8, blur: 16, colour: '@shadow' },
    },
    sign(title, toast, at(PAD, SIGN), PAD + (inner - SIGN) / 2),
    {
      ...{ kind: 'text', x: at(left, width - badgeWidth), y: top, w: width - badgeWidth, h: headHeight },
      ...{ text: name, role: 'caption', colour: '@text-soft', lines: 1, dir },
    },
    { kind: 'text', x: at(left, width), y: top + headHeight, w: width, h: bodyHeight, text, role: 'body', lines: 2 },
  ];
  if (times !== undefined)
    nodes.push({
      ...{ kind: 'text', x: at(left + width - badgeWidth, badgeWidth), y: top, w: badgeWidth, h: headHeight },
      ...{ text: times, role: 'caption', weight: 700, colour: '@accent', lines: 1, align: 'end', dir },
    });
  const scene: Scene = {
    scene: 1,
    background: '#00000000',
    nodes: [
      {
        ...{ kind: 'group', x: EDGE, y: ROOM, w: W, h },
        nodes: [
          {
            ...{ kind: 'group', id: CARD, w: W, h, tap: TAP, nodes },
            label: foreignLabel(title ?? device, LEVEL_WORDS[toast.level], toast.text, times),
          },
        ],
      },
    ],
    ...(entering && { timelines: comes(h + EDGE) }),
  };
  const height = ROOM + h + EDGE;
  return { scene, box: { x: 0, y: PANEL_UNITS - height, w: WIDTH, h: height }, leave: goes(ROOM) };
}
