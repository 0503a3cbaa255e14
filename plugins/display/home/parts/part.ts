/** Blocks that pages are built of, one below the other. */
import type { Layout, Part, SceneNode } from '@device-core/plugin-api/scene';
import { GRID, ground, type IconName, iconNode, onGrid, target } from '@device-core/plugin-api/scene';

const PADDING = 24;
const ICON = 40;
const START = PADDING + ICON + 20;

export interface RowSpec {
  readonly title: string;
  readonly icon?: IconName;
  readonly body?: string;
  readonly value?: string;
  readonly colour?: string;
  /** Makes it a button. */
  readonly tap?: string;
  /** It leads to another page. */
  readonly leads?: boolean;
  /** It has a switch. */
  readonly on?: boolean;
}

/** A line of settings: sign, title, what it says below; a figure, a switch or an arrow at the end. */
export async function row(spec: RowSpec, width: number, layout: Layout): Promise<Part> {
  const { title, icon, body, value, tap, leads, on } = spec;
  const x = icon === undefined ? PADDING : START;
  const end = on === undefined ? (leads === true ? 36 : 0) : SWITCH.w + 16;
  const inner = width - x - PADDING - end;
  const [figure] = await layout.blocks(
    value === undefined
      ? undefined
      : { text: value, role: 'label' as const, width: inner, lines: 1, weight: 400 as const, colour: '@text-soft' },
  );
  const [whole] = await layout.blocks({ text: title, role: 'label', width: inner });
  // A figure stands beside its title where both have a place, else below it.
  const beside = figure !== undefined && (whole?.width ?? 0) + 24 + figure.width <= inner;
  const space = figure !== undefined && beside ? inner - figure.width - 24 : inner;
  const [name, says] = await layout.blocks(
    { text: title, role: 'label', width: space, lines: 2 },
    body === undefined
      ? undefined
      : { text: body, role: 'caption' as const, width: space, lines: 2, colour: '@text-soft' },
  );
  const below = figure !== undefined && !beside ? figure.height : 0;
  const text = (name?.height ?? 0) + (says?.height ?? 0) + below;
  const height = onGrid(Math.max(GRID.target, text + 32));
  let y = Math.round((height - text) / 2);
  const nodes: SceneNode[] = [ground(width, height)];
  if (icon !== undefined)
    nodes.push(
      iconNode(
        icon,
        { x: PADDING, y: (height - ICON) / 2, size: ICON },
        { colour: spec.colour ?? '@accent', dir: layout.dir },
      ),
    );
  if (name) nodes.push(name.at(x, y));
  y += name?.height ?? 0;
  if (says) nodes.push(says.at(x, y));
  y += says?.height ?? 0;
  if (figure)
    nodes.push(
      beside
        ? figure.at(width - PADDING - end - figure.width, Math.round((height - figure.height) / 2), {
            w: figure.width,
            align: 'end',
          })
        : figure.at(x, y),
    );
  if (on !== undefined) nodes.push(...switchNodes(on, width - PADDING - SWITCH.w, (height - SWITCH.h) / 2));
  else if (leads === true)
    nodes.push(
      iconNode(
        'forward',
        { x: width - PADDING - 24, y: (height - 32) / 2, size: 32 },
        { colour: '@text-soft', dir: layout.dir },
      ),
    );
  const said = unescaped([title, body, value].filter((one) => one !== undefined).join(', '));
  return {
    nodes:
      tap === undefined
        ? [{ kind: 'group', w: width, h: height, nodes }]
        : [target(`row-${tap}`.replaceAll('.', '-'), tap, { x: 0, y: 0, w: width, h: height }, nodes, said)],
    height,
  };
}

/** Text before `literal`: labels and titles have no bindings. */
export const unescaped = (text: string): string => text.replaceAll('{{', '{');

const SWITCH = { w: 96, h: 56 } as const;

/** Said by place, by colour and by a sign. */
function switchNodes(on: boolean, x: number, y: number): SceneNode[] {
  const knob = SWITCH.h - 12;
  const left = on ? SWITCH.w - knob - 6 : 6;
  return [
    {
      kind: 'group',
      x,
      y,
      w: SWITCH.w,
      h: SWITCH.h,
      nodes: [
        { ...ground(SWITCH.w, SWITCH.h, on ? '@accent' : '@sunken', SWITCH.h / 2) },
        { kind: 'ellipse', x: left, y: 6, w: knob, h: knob, fill: on ? '@on-accent' : '@text-soft' },
        iconNode(
          on ? 'check' : 'minus',
          { x: left + 10, y: 16, size: 24 },
          { colour: on ? '@accent' : '@sunken', weight: 1.5 },
        ),
      ],
    },
  ];
}

export interface SliderSpec {
  readonly title: string;
  readonly icon: IconName;
  /** 0..1 */
  readonly share: number;
  readonly value: string;
  readonly less: { readonly tap: string; readonly title: string };
  readonly more: { readonly tap: string; readonly title: string };
}

/** A share between two buttons. */
export async function slider(spec: SliderSpec, width: number, layout: Layout): Promise<Part> {
  const [value] = await layout.blocks({
    text: spec.value,
    role: 'label',
    width: Math.round(width * 0.35),
    lines: 1,
    align: 'end',
    weight: 400,
    colour: '@text-soft',
    tabular: true,
  });
  // The title has what the figure leaves, in smaller letters where it needs more.
  const space = width - START - PADDING - 16 - value.width;
  const title = await layout.fitted(spec.title, 'label', { width: space, height: layout.line('label') });
  const top = 20 + Math.max(layout.line('label'), ICON);
  const height = onGrid(top + 8 + GRID.target + 16);
  const side = GRID.target;
  const y = top + 8;
  const x = 16 + side + 20;
  const track = width - 2 * x;
  const thick = 20;
  const button = (tap: string, icon: IconName, at: number, label: string) =>
    target(
      `do-${tap}`.replaceAll('.', '-'),
      tap,
      { x: at, y, w: side, h: side },
      [ground(side, side, '@sunken', side / 2), iconNode(icon, { x: 24, y: 24, size: 40 })],
      label,
    );
  return {
    height,
    nodes: [
      ground(width, height),
      iconNode(spec.icon, { x: PADDING, y: 20, size: ICON }, { colour: '@accent', dir: layout.dir }),
      {
        kind: 'text',
        x: START,
        y: 20 + (ICON - title.height) / 2,
        w: space,
        h: title.height,
        text: spec.title,
        role: 'label',
        size: title.size,
        weight: 700,
        lines: 1,
      },
      value.at(width - PADDING - value.width, 20 + (ICON - layout.line('label')) / 2, { w: value.width }),
      button(spec.less.tap, 'minus', 16, spec.less.title),
      {
        kind: 'rect',
        x,
        y: y + (side - thick) / 2,
        w: track,
        h: thick,
        radius: thick / 2,
        fill: '@sunken',
        stroke: '@outline',
        strokeWidth: 2,
      },
      ...(spec.share <= 0
        ? []
        : [
            {
              kind: 'rect' as const,
              x,
              y: y + (side - thick) / 2,
              w: Math.max(thick, track * spec.share),
              h: thick,
              radius: thick / 2,
              fill: '@accent',
            },
          ]),
      button(spec.more.tap, 'plus', width - 16 - side, spec.more.title),
    ],
  };
}

export interface OptionsSpec {
  readonly title: string;
  readonly icon: IconName;
  readonly options: readonly { readonly tap: string; readonly title: string; readonly chosen: boolean }[];
}

/** One of few, all of them seen. The chosen one has a tick as well as its colour. */
export async function options(spec: OptionsSpec, width: number, layout: Layout): Promise<Part> {
  const gap = 12;
  const inner = width - 32;
  const count = spec.options.length;
  const place = (columns: number, chosen: boolean) =>
    (inner - (columns - 1) * gap) / columns - 2 * 16 - (chosen ? 36 : 0);
  const beside = await layout.blocks(
    ...spec.options.map(({ title, chosen }) => ({
      text: title,
      role: 'label' as const,
      width: place(count, chosen),
      lines: 1,
    })),
  );
  const columns = beside.every(({ cut }) => !cut) ? count : 2;
  const letters = await Promise.all(
    spec.options.map(({ title, chosen }) =>
      layout.fitted(title, 'label', { width: place(columns, chosen), height: layout.line('label') }),
    ),
  );
  const [title] = await layout.blocks({ text: spec.title, role: 'label', width: width - START - PADDING, lines: 1 });
  const wide = (inner - (columns - 1) * gap) / columns;
  const high = onGrid(Math.max(GRID.target, ...letters.map(({ height }) => height + 12)));
  const top = 20 + Math.max(ICON, title.height) + 12;
  const lines = Math.ceil(count / columns);
  const height = onGrid(top + lines * high + (lines - 1) * gap + 16);
  return {
    height,
    nodes: [
      ground(width, height),
      iconNode(spec.icon, { x: PADDING, y: 20, size: ICON }, { colour: '@accent', dir: layout.dir }),
      title.at(START, 20 + (ICON - layout.line('label')) / 2),
      ...spec.options.map(({ tap, title: name, chosen }, index) => {
        const letter = letters[index] ?? { size: 30, height: 38 };
        const text: SceneNode = {
          kind: 'text',
          x: 16 + (chosen ? 36 : 0),
          y: (high - letter.height) / 2,
          w: place(columns, chosen),
          h: letter.height,
          text: name,
          role: 'label',
          size: letter.size,
          weight: 700,
          colour: chosen ? '@on-accent' : '@text',
          align: 'center',
          lines: 1,
        };
        return target(
          `do-${tap}`.replaceAll('.', '-'),
          tap,
          {
            x: 16 + (index % columns) * (wide + gap),
            y: top + Math.floor(index / columns) * (high + gap),
            w: wide,
            h: high,
          },
          [
            ground(wide, high, chosen ? '@accent' : '@sunken', 24),
            ...(chosen
              ? [iconNode('check', { x: 16, y: (high - 32) / 2, size: 32 }, { colour: '@on-accent', weight: 1.4 })]
              : []),
            text,
          ],
          name,
        );
      }),
    ],
  };
}

/** A sentence between other things. */
export async function note(text: string, width: number, layout: Layout): Promise<Part> {
  const [block] = await layout.blocks({ text, role: 'body', width, lines: 6, colour: '@text-soft' });
  return { nodes: [block.at(0, 0)], height: block.height };
}
