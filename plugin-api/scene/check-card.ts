/** Is it a card? */
import type { JsonSchema } from '../contract/json-schema.ts';
import type { Card, CardTemplate } from './card.ts';
import {
  bool,
  checked,
  FieldProblem,
  type Fields,
  isObject,
  list,
  number,
  oneOf,
  record,
  text,
  variants,
} from './fields.ts';
import { ID, IMAGE } from './nodes.ts';

const LINE = text(200);
const ACTION = record(['id', 'title'], { id: ID, title: text(60, undefined, false), primary: bool });
const COMMON: Fields = { card: oneOf([1]), title: LINE, icon: IMAGE, actions: list(ACTION, 0, 2) };
const MILLISECONDS = number(0, 8.64e15);
const BODY = text(2_000);
const ITEM = record(['title'], { id: ID, title: LINE, body: LINE, icon: IMAGE, value: text(40) });
const OPTION = record(['id', 'title'], { id: ID, title: text(60, undefined, false), icon: IMAGE });

const SHAPES: Readonly<Record<CardTemplate, { readonly required: readonly string[]; readonly fields: Fields }>> = {
  text: { required: ['card'], fields: { ...COMMON, value: text(24), body: BODY } },
  list: { required: ['card', 'items'], fields: { ...COMMON, items: list(ITEM, 0, 50) } },
  choice: { required: ['card', 'options'], fields: { ...COMMON, body: BODY, options: list(OPTION, 2, 8) } },
  image: { required: ['card', 'image', 'label'], fields: { ...COMMON, image: IMAGE, caption: LINE, label: LINE } },
  progress: { required: ['card'], fields: { ...COMMON, progress: number(0, 1), body: BODY } },
  media: {
    required: ['card', 'playing'],
    fields: {
      ...COMMON,
      artist: LINE,
      image: IMAGE,
      playing: bool,
      positionMs: MILLISECONDS,
      durationMs: MILLISECONDS,
      controls: list(oneOf(['previous', 'play', 'pause', 'next']), 0, 3),
    },
  },
  timer: {
    required: ['card', 'until'],
    fields: { ...COMMON, until: MILLISECONDS, durationMs: MILLISECONDS, body: BODY },
  },
};
const CARD = variants('template', SHAPES);

/** JSON Schema of a card, for documents and editors. */
export const CARD_SCHEMA: JsonSchema = { ...CARD.schema, title: 'Card' };

export const isCard = (value: unknown): boolean => isObject(value) && 'card' in value;

/** The value as a card. Throws SCENE_INVALID {what, where, reason}: `where` is `/items/0/titel`. */
export function checkCard(value: unknown, what: string): Card {
  return checked(what, value, (card) => {
    CARD.check(card, '');
    const { actions = [] } = card as Card;
    unique(actions, '/actions');
    if (actions.filter(({ primary }) => primary === true).length > 1)
      throw new FieldProblem('/actions', 'one of them may be primary');
    if ((card as Card).template === 'choice')
      unique((card as Extract<Card, { template: 'choice' }>).options, '/options');
  });
}

function unique(items: readonly { readonly id: string }[], at: string): void {
  const seen = new Set<string>();
  for (const [index, { id }] of items.entries()) {
    if (seen.has(id)) throw new FieldProblem(`${at}/${index}/id`, `${id} is there twice`);
    seen.add(id);
  }
}
