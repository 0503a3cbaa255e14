/** A toast: at the bottom, it rises from the edge. Title and sign of the app are drawn here, whatever the app says. */
import type { Display } from '@device-core/plugin-api';
import {
  directed,
  directionOfLocale,
  foreignLabel,
  foreignText,
  GRID,
  PANEL_UNITS,
  type Scene,
  type SceneNode,
} from '@device-core/plugin-api/scene';
import { CARD, comes, EDGE, goes, LEVEL_WORDS, legible, linesOf, PAD, SIGN, sign, WIDTH } from './parts.ts';
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
    title: real,
    device,
    entering,
  }: { readonly title: string | undefined; readonly device: string; readonly entering: boolean },
): Promise<Drawing> {
  const { locale, textScale } = await display.surroundings();
  const lines = linesOf(textScale);
  const title = await legible(display, real, toast.app);
  const name = foreignText(title ?? device);
  const text = foreignText(toast.text);
  const times = toast.count > 1 ? `×${toast.count}` : undefined;
  const width = W - 2 * PAD - SIGN - GAP;
  const [head, body, badge] = await display.measure([
    { text: name, role: 'caption', width, lines: 1 },
    { text, role: 'body', width, lines },
    { text: times ?? '', role: 'caption', weight: 700 },
  ]);
  const headHeight = Math.ceil(head?.height ?? 34);
  const bodyHeight = Math.ceil(body?.height ?? 44);
  const inner = Math.max(SIGN, headHeight + bodyHeight);
  const h = inner + 2 * PAD;
  const badgeWidth = times === undefined ? 0 : Math.ceil(badge?.width ?? 0) + 20;
  const x = PAD + SIGN + GAP;
  const y = PAD + (inner - headHeight - bodyHeight) / 2;
  const caption = { kind: 'text', y, h: headHeight, role: 'caption', lines: 1 } as const;
  const laid: SceneNode[] = [
    {
      ...{ kind: 'rect', w: W, h, radius: GRID.radius, fill: '@raised' },
      ...{ stroke: toast.level === 'error' ? '@error' : '@line', strokeWidth: toast.level === 'error' ? 3 : 2 },
      shadow: { y: 8, blur: 16, colour: '@shadow' },
    },
    sign(title, toast, { x: PAD, y: PAD + (inner - SIGN) / 2, textScale }),
    { ...caption, x, w: width - badgeWidth, text: name, colour: '@text-soft' },
    { kind: 'text', x, y: y + headHeight, w: width, h: bodyHeight, text, role: 'body', lines },
  ];
  if (times !== undefined)
    laid.push({
      ...{ ...caption, x: x + width - badgeWidth, w: badgeWidth, text: times },
      ...{ weight: 700, colour: '@accent', align: 'end' },
    });
  const nodes = directed(laid, W, directionOfLocale(locale));
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
