/** A banner: at the top, below the strip of the system, it comes down from there. It stays until it is dismissed. */

import {
  buttons,
  cardWords,
  directed,
  directionOfLocale,
  foreignLabel,
  foreignText,
  GRID,
  Layout,
  type Scene,
  type SceneNode,
  type Timeline,
} from '@device-core/plugin-api/scene';
import type { Display } from '@device-core/plugin-api/services/display';
import type { Banner } from './banner-queue.ts';
import { atTop, CARD, EDGE, LEVEL_WORDS, legible, linesOf, PAD, SIGN, sign, WIDTH } from './parts.ts';
import type { Drawing } from './stage.ts';

const W = WIDTH - 2 * EDGE;
const GAP = GRID.gap + GRID.unit;
const CROSS = 44;
const BAR = 10;
const FILL = 'fill';
const RUN_MS = 300;
export const DISMISS = 'dismiss';
const PRESS = 'press.';

/** Which button a tap is of. */
export function buttonOf(tap: string | undefined): number | undefined {
  return tap?.startsWith(PRESS) ? Number(tap.slice(PRESS.length)) : undefined;
}

export interface BannerView {
  readonly title: string | undefined;
  readonly device: string;
  /** Version of this banner that is on the screen already. */
  readonly former: Banner | undefined;
  /** Others that wait. */
  readonly more: number;
}

export async function bannerScene(
  display: Pick<Display, 'measure' | 'surroundings'>,
  banner: Banner,
  { title: real, device, former, more }: BannerView,
): Promise<Drawing> {
  const { locale, textScale, theme } = await display.surroundings();
  // Buttons of large letters stand below each other: with more lines above them the last one would leave the panel.
  const lines = (banner.buttons?.length ?? 0) > 0 ? 2 : linesOf(textScale);
  const dir = directionOfLocale(locale);
  const title = await legible(display, real, banner.app);
  const name = foreignText(title ?? device) + (more > 0 ? `  ·  +${more}` : '');
  const text = foreignText(banner.text);
  const width = W - 2 * PAD - SIGN - GAP - CROSS - GAP;
  const [head, body] = await display.measure([
    { text: name, role: 'caption', width, lines: 1 },
    { text, role: 'body', width, lines },
  ]);
  const headHeight = Math.ceil(head?.height ?? 34);
  const bodyHeight = Math.ceil(body?.height ?? 44);
  const inner = Math.max(SIGN, headHeight + bodyHeight);
  const x = PAD + SIGN + GAP;
  const top = PAD + (inner - headHeight - bodyHeight) / 2;
  const told: readonly SceneNode[] = [
    sign(title, banner, { x: PAD, y: PAD + (inner - SIGN) / 2, textScale }),
    {
      kind: 'text',
      x,
      y: top,
      w: width,
      h: headHeight,
      text: name,
      role: 'caption',
      colour: '@text-soft',
      lines: 1,
    },
    { kind: 'text', x, y: top + headHeight, w: width, h: bodyHeight, text, role: 'body', lines },
  ];
  let h = PAD + inner;
  const label = foreignLabel(title ?? device, LEVEL_WORDS[banner.level], banner.text);
  const laid: SceneNode[] = [
    { kind: 'group', w: W, h, label, nodes: told },
    ...cross(W - PAD - CROSS, PAD + (inner - CROSS) / 2),
  ];
  const timelines: Timeline[] = former ? [] : [...atTop(h).enter];
  if (banner.progress !== undefined) {
    h += GAP;
    const whole = W - 2 * PAD;
    const wide = (progress: number) => Math.max(BAR, Math.round(whole * progress));
    const w = wide(banner.progress);
    const percent = new Intl.NumberFormat(locale, { style: 'percent' }).format(banner.progress);
    laid.push(
      { kind: 'rect', x: PAD, y: h, w: whole, h: BAR, radius: BAR / 2, fill: '@sunken', label: percent },
      { kind: 'rect', id: FILL, x: PAD, y: h, w, h: BAR, radius: BAR / 2, fill: `@${banner.level}` },
    );
    if (former?.progress !== undefined && former.progress !== banner.progress) {
      const from = wide(former.progress);
      const run = { node: FILL, ms: RUN_MS, ease: 'out' } as const;
      timelines.push({ ...run, property: 'w', from, to: w });
      if (dir === 'rtl') timelines.push({ ...run, property: 'x', from: W - PAD - from, to: W - PAD - w });
    }
    h += BAR;
  }
  if (banner.buttons && banner.buttons.length > 0) {
    h += GAP;
    const layout = new Layout({
      theme,
      textScale,
      dir,
      words: cardWords(locale),
      measure: (all) => display.measure(all),
    });
    const specs = banner.buttons.map((button, index) => ({
      id: `${PRESS}${index}`,
      title: foreignText(button.title),
      primary: index === 0,
    }));
    const row = await buttons(specs, W - 2 * PAD, layout, 1);
    laid.push({ kind: 'group', x: PAD, y: h, w: W - 2 * PAD, h: row.height, nodes: row.nodes.map(sunken) });
    h += row.height;
  }
  h += PAD;
  const ground: SceneNode = {
    kind: 'rect',
    w: W,
    h,
    radius: GRID.radius,
    fill: '@raised',
    shadow: { y: 8, blur: 16, colour: '@shadow' },
    stroke: banner.level === 'error' ? '@error' : '@line',
    strokeWidth: banner.level === 'error' ? 3 : 2,
  };
  const nodes = [ground, ...directed(laid, W, dir)];
  const card: SceneNode = { kind: 'group', id: CARD, w: W, h, nodes };
  const { y, box, leave } = atTop(h);
  const scene: Scene = {
    scene: 1,
    background: '#00000000',
    timelines,
    nodes: [{ kind: 'group', x: EDGE, y, w: W, h, nodes: [card] }],
  };
  return { scene, box, leave };
}

/** On something raised a raised button is not seen. */
function sunken(node: SceneNode): SceneNode {
  if (node.kind === 'group') return { ...node, nodes: node.nodes.map(sunken) };
  return node.kind === 'rect' && node.fill === '@raised' ? { ...node, fill: '@sunken' } : node;
}

function cross(x: number, y: number): readonly SceneNode[] {
  return [
    { kind: 'ellipse', x, y, w: CROSS, h: CROSS, fill: '@sunken', tap: DISMISS, label: 'Dismiss' },
    {
      kind: 'path',
      x,
      y,
      w: CROSS,
      h: CROSS,
      view: [44, 44],
      d: 'M16 16 L28 28 M28 16 L16 28',
      stroke: '@text-soft',
      strokeWidth: 3,
      cap: 'round',
    },
  ];
}
