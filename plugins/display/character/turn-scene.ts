/** A turn of speech as a scene. Pure. */
import type { Surroundings, VoiceTurn } from '@device-core/plugin-api';
import {
  GRID,
  iconNode,
  isolated,
  PANEL_UNITS,
  type Scene,
  type SceneNode,
  type TextRole,
  TYPE,
} from '@device-core/plugin-api/scene';
import type { Strings } from './strings.ts';

/** What is known of a turn. */
export interface TurnView {
  readonly turn: string;
  readonly phase: 'listening' | 'thinking' | 'speaking' | 'over';
  /** So far, or in the end. */
  readonly heard?: string;
  readonly said?: string;
  readonly stage?: 'local' | 'cloud';
  /** Real title of the app that was asked. */
  readonly app?: string;
  readonly outcome?: VoiceTurn['outcome'];
  /** Sentences that it would understand. */
  readonly examples: readonly string[];
}

/** Height of the face, by the text scale: what is read matters more than who says it. */
function faceOf(textScale: number): { readonly y: number; readonly size: number } {
  if (textScale >= 2) return { y: 24, size: 168 };
  if (textScale >= 1.5) return { y: 24, size: 216 };
  return { y: 32, size: textScale > 1 ? 264 : 304 };
}

const WIDTH = PANEL_UNITS - 2 * GRID.margin;
const FOOT = PANEL_UNITS - GRID.margin - 40;

export function turnScene(
  view: TurnView,
  { strings, textScale }: { readonly strings: Strings } & Pick<Surroundings, 'textScale'>,
): Scene {
  const face = faceOf(textScale);
  const line = (role: TextRole) => Math.round(TYPE[role].line * textScale);
  const nodes: SceneNode[] = [
    { kind: 'rect', id: 'outside', x: 0, y: 0, w: PANEL_UNITS, h: PANEL_UNITS, tap: 'end', label: strings.end },
    {
      ...{ kind: 'character', id: 'character', label: strings.character },
      ...{ x: (PANEL_UNITS - face.size) / 2, y: face.y, w: face.size, h: face.size },
    },
    ...muteButton(strings),
  ];
  const add = (id: string, text: string, y: number, role: TextRole, lines: number, colour: string) => {
    const h = lines * line(role);
    nodes.push({
      ...{ kind: 'text', id, text: escaped(text), role, colour, lines, align: 'center' },
      ...{ x: GRID.margin, y, w: WIDTH, h },
    });
    return y + h;
  };
  let y = face.y + face.size + GRID.gap;
  const { said, heard } = view;
  if (said !== undefined) {
    if (heard !== undefined && heard !== '') y = add('heard', quoted(heard), y, 'caption', 1, '@text-soft') + GRID.unit;
    const space = FOOT - GRID.unit - y;
    // Few words are said large, many are said so that they can be read.
    const role: TextRole =
      said.length * textScale <= 36 ? 'title' : said.length * textScale <= 110 ? 'heading' : 'body';
    add('said', said, y, role, Math.max(1, Math.floor(space / line(role))), '@text');
  } else if (heard !== undefined && heard !== '') {
    const colour = view.phase === 'listening' ? '@text' : '@text-soft';
    const role: TextRole = heard.length * textScale <= 60 ? 'title' : 'heading';
    add('heard', quoted(heard), y, role, Math.max(1, Math.floor((FOOT - GRID.unit - y) / line(role))), colour);
  } else {
    y = add('prompt', view.phase === 'listening' ? strings.listening : strings.thinking, y, 'title', 1, '@text');
    const room = Math.floor((FOOT - y - GRID.gap) / line('body')) - 1;
    const examples = view.phase === 'listening' ? view.examples.slice(0, Math.min(2, room)) : [];
    if (examples.length > 0) {
      y = add('say', strings.youCanSay, y + GRID.gap, 'caption', 1, '@text-soft');
      for (const [index, example] of examples.entries())
        y = add(`example-${index}`, quoted(example), y, 'body', 1, '@text-soft');
    }
  }
  nodes.push(...foot(view, strings, line('caption')));
  return { scene: 1, title: strings.listening, background: '@background', nodes };
}

function muteButton(strings: Strings): readonly SceneNode[] {
  const [x, size, icon] = [GRID.margin - 8, 72, 36];
  const middle = (size - icon) / 2;
  return [
    {
      ...{ kind: 'ellipse', id: 'mute', x, y: x, w: size, h: size, fill: '@raised' },
      ...{ tap: 'mute', label: strings.mute },
    },
    { ...iconNode('muted', { x: x + middle, y: x + middle, size: icon }, { colour: '@text-soft' }), id: 'mute-sign' },
  ];
}

/** Who was asked, and whether it left the device. */
function foot({ app, stage }: TurnView, strings: Strings, height: number): readonly SceneNode[] {
  const words = [
    ...(app === undefined ? [] : [isolated(app)]),
    ...(stage === undefined ? [] : [stage === 'cloud' ? strings.cloud : strings.local]),
  ].join(' · ');
  if (words === '') return [];
  const sign = { x: GRID.margin, y: FOOT + (height - 32) / 2, size: 32 };
  return [
    {
      ...iconNode(stage === 'cloud' ? 'upload' : 'shield', sign, { colour: stage === 'cloud' ? '@warn' : '@success' }),
      ...{ id: 'privacy', opacity: stage === undefined ? 0 : 1 },
    },
    {
      ...{ kind: 'text', id: 'foot', text: escaped(words), role: 'caption', colour: '@text-soft', lines: 1 },
      ...{ x: GRID.margin + 32 + 12, y: FOOT, w: WIDTH - 32 - 12, h: height },
    },
  ];
}

const quoted = (text: string): string => `“${text}”`;

/** What is shown of somebody's words: no bindings, no controls, not endless. */
function escaped(text: string): string {
  const most = 600;
  const plain = text.replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ');
  const cut = plain.length > most ? `${plain.slice(0, most).toWellFormed()}…` : plain;
  return cut.replaceAll('{', '{{');
}
