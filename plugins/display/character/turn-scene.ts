/** A turn of speech as a scene. Pure. */

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
import type { Surroundings } from '@device-core/plugin-api/services/renderer';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import type { Strings } from './strings.ts';

/** Known parts of a turn, from which its screen is drawn. */
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
  if (textScale >= 2) return { y: 24, size: 136 };
  if (textScale >= 1.5) return { y: 24, size: 216 };
  return { y: 32, size: textScale > 1 ? 264 : 304 };
}

const WIDTH = PANEL_UNITS - 2 * GRID.margin;
const SIGN = 32;
const SIGN_GAP = 12;

export interface TurnSceneOptions extends Pick<Surroundings, 'textScale'> {
  readonly strings: Strings;
  /** Units of a line of caption (`footOf`). */
  readonly widthOf: (text: string) => number;
}

/** Title of the app and place of the work; each is a line where both do not fit into one. */
export function footOf({ app, stage }: TurnView, strings: Strings): readonly string[] {
  const title = app === undefined ? [] : [isolated(shown(app))];
  return stage === undefined ? title : [...title, stage === 'cloud' ? strings.cloud : strings.local];
}

export const BETWEEN = ' · ';

export function turnScene(view: TurnView, options: TurnSceneOptions): Scene {
  const { strings, textScale } = options;
  const face = faceOf(textScale);
  const line = (role: TextRole) => Math.round(TYPE[role].line * textScale);
  const nodes: SceneNode[] = [
    { kind: 'rect', id: 'outside', x: 0, y: 0, w: PANEL_UNITS, h: PANEL_UNITS, tap: 'end', label: strings.end },
    {
      kind: 'character',
      id: 'character',
      label: strings.character,
      x: (PANEL_UNITS - face.size) / 2,
      y: face.y,
      w: face.size,
      h: face.size,
    },
    ...muteButton(strings),
  ];
  const foot = footNodes(view, options, line('caption'));
  nodes.push(...foot.nodes);
  const add = (id: string, text: string, y: number, role: TextRole, lines: number, colour: string) => {
    const h = lines * line(role);
    nodes.push({
      kind: 'text',
      id,
      text: escaped(text),
      role,
      colour,
      lines,
      align: 'center',
      x: GRID.margin,
      y,
      w: WIDTH,
      h,
    });
    return y + h;
  };
  const [open, close] = strings.quotes;
  const quoted = (text: string): string => `${open}${shown(text)}${close}`;
  const fits = (role: TextRole, y: number): number => Math.max(1, Math.floor((foot.y - GRID.unit - y) / line(role)));
  let y = face.y + face.size + GRID.gap;
  const { said, heard = '', phase, examples } = view;
  if (said !== undefined) {
    // Large letters leave room for the answer alone.
    if (heard !== '' && textScale < 1.5) y = add('heard', quoted(heard), y, 'caption', 1, '@text-soft') + GRID.unit;
    // Few words are said large, many are said so that they can be read.
    const length = said.length * textScale;
    const role: TextRole = length <= 36 ? 'title' : length <= 110 ? 'heading' : 'body';
    const lines = Math.min(fits(role, y), Math.ceil(length / 18));
    y = add('said', shown(said), y, role, lines, '@text');
    const next = examples.find((example) => example.toLowerCase() !== heard.toLowerCase());
    if (next !== undefined && fits('caption', y + GRID.gap) >= 3) {
      y = add('say', strings.youCanSay, y + GRID.gap, 'caption', 1, '@text-soft');
      add('example-0', quoted(next), y, 'caption', 1, '@text-soft');
    }
  } else if (heard !== '') {
    const role: TextRole = heard.length * textScale <= 50 ? 'title' : 'heading';
    add('heard', quoted(heard), y, role, fits(role, y), phase === 'listening' ? '@text' : '@text-soft');
  } else {
    y = add('prompt', phase === 'listening' ? strings.listening : strings.thinking, y, 'title', 1, '@text');
    const room = fits('body', y + GRID.gap) - 1;
    const known = phase === 'listening' ? examples.slice(0, Math.min(2, room)) : [];
    if (known.length > 0) y = add('say', strings.youCanSay, y + GRID.gap, 'caption', 1, '@text-soft');
    for (const [index, example] of known.entries())
      y = add(`example-${index}`, quoted(example), y, 'body', 1, '@text-soft');
  }
  return { scene: 1, title: strings.listening, background: '@background', nodes };
}

function muteButton(strings: Strings): readonly SceneNode[] {
  const [x, size, icon] = [GRID.margin - 8, 72, 36];
  const middle = (size - icon) / 2;
  return [
    {
      kind: 'ellipse',
      id: 'mute',
      x,
      y: x,
      w: size,
      h: size,
      fill: '@raised',
      tap: 'mute',
      label: strings.mute,
    },
    { ...iconNode('muted', { x: x + middle, y: x + middle, size: icon }, { colour: '@text-soft' }), id: 'mute-sign' },
  ];
}

function footNodes(
  view: TurnView,
  { strings, widthOf }: TurnSceneOptions,
  height: number,
): { readonly y: number; readonly nodes: readonly SceneNode[] } {
  const words = footOf(view, strings);
  const one = words.join(BETWEEN);
  const more = view.stage === undefined ? 0 : SIGN + SIGN_GAP;
  const lines = words.length > 1 && widthOf(one) + more > WIDTH ? words : words.length > 0 ? [one] : [];
  const y = PANEL_UNITS - GRID.margin + GRID.unit - Math.max(1, lines.length) * height;
  const nodes = lines.flatMap((text, index): SceneNode[] => {
    // The sign stands before what it is about.
    const signed = view.stage !== undefined && index === lines.length - 1;
    const before = signed ? SIGN + SIGN_GAP : 0;
    const w = Math.min(WIDTH - before, Math.ceil(widthOf(text)) + 2);
    const x = Math.round((PANEL_UNITS - w - before) / 2);
    const top = y + index * height;
    const cloud = view.stage === 'cloud';
    const sign = iconNode(
      cloud ? 'upload' : 'shield',
      { x, y: top + (height - SIGN) / 2, size: SIGN },
      { colour: cloud ? '@warn' : '@success' },
    );
    return [
      ...(signed ? [{ ...sign, id: 'privacy' }] : []),
      {
        kind: 'text',
        id: `foot-${index}`,
        text: escaped(text),
        role: 'caption',
        colour: '@text-soft',
        lines: 1,
        x: x + before,
        y: top,
        w,
        h: height,
      },
    ];
  });
  return { y, nodes };
}

const MOST = 600;

/** Text of a speaker or an app as it may be shown: without controls, and bounded. */
function shown(text: string): string {
  const plain = text.toWellFormed().replaceAll(/\p{Cc}/gu, ' ');
  return plain.length > MOST ? `${plain.slice(0, MOST).toWellFormed()}…` : plain;
}

/** Braces are no bindings here. */
const escaped = (text: string): string => text.replaceAll('{', '{{');
