/** A toast: at the bottom it rises from the edge, over an app it comes down from the top. The device draws title and sign of the app. */

import {
  directed,
  directionOfLocale,
  foreignLabel,
  foreignText,
  GRID,
  type Scene,
  type SceneNode,
} from '@device-core/plugin-api/scene';
import type { Display } from '@device-core/plugin-api/services/display';
import { atBottom, atTop, CARD, EDGE, LEVEL_WORDS, legible, linesOf, PAD, SIGN, sign, WIDTH } from './parts.ts';
import type { Drawing } from './stage.ts';
import type { Toast } from './toast-queue.ts';

const W = WIDTH - 2 * EDGE;
const GAP = GRID.gap + GRID.unit;
export const TAP = 'dismiss';

export interface ToastView {
  /** The real one of the app; absent: the device speaks. */
  readonly title: string | undefined;
  readonly device: string;
  readonly entering: boolean;
  /** The buttons of an app are at the bottom. */
  readonly top: boolean;
}

export async function toastScene(
  display: Pick<Display, 'measure' | 'surroundings'>,
  toast: Toast,
  { title: real, device, entering, top }: ToastView,
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
      kind: 'rect',
      w: W,
      h,
      radius: GRID.radius,
      fill: '@raised',
      stroke: toast.level === 'error' ? '@error' : '@line',
      strokeWidth: toast.level === 'error' ? 3 : 2,
      shadow: { y: 8, blur: 16, colour: '@shadow' },
    },
    sign(title, toast, { x: PAD, y: PAD + (inner - SIGN) / 2, textScale }),
    { ...caption, x, w: width - badgeWidth, text: name, colour: '@text-soft' },
    { kind: 'text', x, y: y + headHeight, w: width, h: bodyHeight, text, role: 'body', lines },
  ];
  if (times !== undefined)
    laid.push({
      ...caption,
      x: x + width - badgeWidth,
      w: badgeWidth,
      text: times,
      weight: 700,
      colour: '@accent',
      align: 'end',
    });
  const nodes = directed(laid, W, directionOfLocale(locale));
  const { y: down, box, enter, leave } = (top ? atTop : atBottom)(h);
  const scene: Scene = {
    scene: 1,
    background: '#00000000',
    nodes: [
      {
        kind: 'group',
        x: EDGE,
        y: down,
        w: W,
        h,
        nodes: [
          {
            kind: 'group',
            id: CARD,
            w: W,
            h,
            tap: TAP,
            nodes,
            label: foreignLabel(title ?? device, LEVEL_WORDS[toast.level], toast.text, times),
          },
        ],
      },
    ],
    ...(entering && { timelines: enter }),
  };
  return { scene, box, leave };
}
