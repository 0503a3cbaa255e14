/** Screens with one thing to say: what is wrong and what to do, and the code to scan. */
import type { Layout, Scene, SceneNode } from '@device-core/plugin-api/scene';
import { buttons, GRID, PANEL_UNITS } from '@device-core/plugin-api/scene';
import type { Drawing } from '../facts.ts';
import { WIDTH, wholeScreen } from '../page.ts';
import { problemSays, problemTitle } from '../problem-text.ts';
import { qrPath } from '../qr.ts';
import type { Strings } from '../strings/index.ts';

/** Problem screen: a face for its kind, the code for a helper, and the remedy. */
export async function problemScreen({ facts }: Drawing, strings: Strings, layout: Layout): Promise<Scene> {
  const problem = facts.mishap ?? facts.problem ?? { kind: 'failed' as const, code: 'UNAVAILABLE', what: '' };
  const title = problemTitle(problem, strings);
  const says = problemSays(problem, strings);
  const foot = await buttons(
    problem.kind === 'offline'
      ? [
          { id: 'back', title: strings.back },
          { id: 'go.network', title: strings.problem.network, primary: true },
        ]
      : [
          { id: 'back', title: strings.back, primary: true },
          // A failed touch is over with this screen, so it needs no button to hide.
          ...(facts.mishap === undefined && facts.problem !== undefined
            ? [{ id: 'problem.hide', title: strings.problem.hide }]
            : []),
        ],
    WIDTH,
    layout,
  );
  const end = PANEL_UNITS - GRID.margin - foot.height - 24;
  const code = Math.ceil(layout.line('caption'));
  const [name] = await layout.blocks({ text: title, role: 'title', width: WIDTH, lines: 2, align: 'center' });
  const lines = Math.max(1, Math.floor((end - 40 - name.height - code - 40) / layout.line('body')));
  const [body] = await layout.blocks({
    text: says,
    role: 'body',
    width: WIDTH,
    lines: Math.min(4, lines),
    align: 'center',
    colour: '@text-soft',
  });
  const text = name.height + 8 + body.height + 12 + code;
  const size = Math.min(232, end - text - 40 - 20);
  const nodes: SceneNode[] = [];
  let y = Math.max(32, Math.round((end - text - (size >= 120 ? size + 20 : 0)) / 2) + 8);
  if (size >= 120) {
    nodes.push({
      kind: 'character',
      x: (PANEL_UNITS - size) / 2,
      y,
      w: size,
      h: size,
      state: 'error',
      expression: 'confused',
    });
    y += size + 20;
  }
  nodes.push(name.at(GRID.margin, y), body.at(GRID.margin, y + name.height + 8), {
    kind: 'text',
    x: GRID.margin,
    y: y + name.height + 8 + body.height + 12,
    w: WIDTH,
    h: code,
    text: problem.code,
    role: 'caption',
    colour: '@text-soft',
    align: 'center',
    lines: 1,
  });
  nodes.push(
    ...foot.nodes.map((node) => ({
      ...node,
      x: (node.x ?? 0) + GRID.margin,
      y: (node.y ?? 0) + PANEL_UNITS - GRID.margin - foot.height,
    })),
  );
  return wholeScreen(title, '@background', nodes, layout);
}

/** Code in dark on white in every theme: cameras want it so. */
export async function pairingScreen({ facts }: Drawing, strings: Strings, layout: Layout): Promise<Scene> {
  const text = strings.pairing;
  const url = facts.pairing?.url ?? '';
  const foot = await buttons([{ id: 'back', title: text.done, primary: true }], WIDTH, layout);
  const [name] = await layout.blocks({ text: text.title, role: 'title', width: WIDTH, lines: 2, align: 'center' });
  const end = PANEL_UNITS - GRID.margin - foot.height - 24;
  const lines = Math.floor((end - 40 - name.height - 300) / layout.line('body'));
  const [says] = await layout.blocks(
    lines < 1
      ? undefined
      : {
          text: text.says,
          role: 'body' as const,
          width: WIDTH,
          lines: Math.min(2, lines),
          align: 'center' as const,
          colour: '@text-soft',
        },
  );
  const top = 40 + name.height + (says === undefined ? 0 : says.height + 8);
  const most = Math.min(376, end - top - 24);
  const { d, size } = await qrPath(url);
  // Four modules of quiet all round, as the standard asks; whole units, so that no light shines between two lines.
  const module = Math.max(1, Math.floor(most / (size + 8)));
  const inner = module * size;
  const side = inner + 8 * module;
  const y = Math.round(top + 16 + Math.max(0, (end - top - 16 - side) / 2));
  const x = Math.round((PANEL_UNITS - side) / 2);
  return wholeScreen(
    text.title,
    '@background',
    [
      name.at(GRID.margin, 40),
      ...(says ? [says.at(GRID.margin, 40 + name.height + 8)] : []),
      { kind: 'rect', x, y, w: side, h: side, radius: 24, fill: '#ffffff' },
      {
        kind: 'path',
        x: x + 4 * module,
        y: y + 4 * module,
        w: inner,
        h: inner,
        d,
        view: [size, size],
        stroke: '#000000',
        strokeWidth: module,
        label: text.label,
      },
      ...foot.nodes.map((node) => ({
        ...node,
        x: (node.x ?? 0) + GRID.margin,
        y: (node.y ?? 0) + PANEL_UNITS - GRID.margin - foot.height,
      })),
    ],
    layout,
  );
}
