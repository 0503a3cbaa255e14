/** Scenes, cards and themes: data, and the pure functions that check, change and lay them out. Shared by `display`, renderers and pages. */

export { type BindingWorld, type Bound, bind, bindingProblem } from './bindings.ts';
export type {
  Card,
  CardAction,
  CardTemplate,
  ChoiceCard,
  ImageCard,
  ListCard,
  MediaCard,
  ProgressCard,
  TextCard,
  TimerCard,
} from './card.ts';
export { type ButtonSpec, buttons, ground, target } from './cards/button.ts';
export { type Direction, directed, directionOfLocale } from './cards/direction.ts';
export {
  type Block,
  type BlockQuestion,
  Layout,
  type LayoutOptions,
  literal,
  onGrid,
  type Part,
} from './cards/layout.ts';
export { type CardWords, cardWords } from './cards/words.ts';
export {
  CHARACTER_LIMITS,
  type CharacterLook,
  type CharacterMoment,
  type CharacterMotion,
  type CharacterMoved,
  type CharacterPicture,
  type CharacterSpec,
  characterNodes,
  MOUTHS,
  MOVED,
  Mouth,
  type MouthShape,
  mouthOf,
  type PartChanges,
} from './character/index.ts';
export { checkScene, imagesOf, nodesOf, SCENE_SCHEMA } from './check.ts';
export { CARD_SCHEMA, checkCard, isCard } from './check-card.ts';
export { channels, contrast, resolveColour } from './colour.ts';
export { describeScene, unnamed } from './describe.ts';
export { type AppSignPlace, appSign, foreignLabel, foreignText } from './foreign.ts';
export { type Hit, hitTest, type Place, sizeOf, tapsOf } from './hit.ts';
export { ICONS, type IconName, iconNode } from './icons.ts';
export { IMAGE_LIMITS, type ImageHeader, imageSize } from './image-size.ts';
export { PATCH_SCHEMA, type PatchTimes, patchScene, patchSceneAt, timed } from './patch.ts';
export { type PathSegment, pathProblem, readPath } from './path-data.ts';
export { intersection, joinRects, overlap, type Rect, union } from './rect.ts';
export {
  ANIMATED,
  type Animated,
  CHARACTER_STATES,
  type CharacterNode,
  type CharacterState,
  type Colour,
  EASINGS,
  type Easing,
  type EllipseNode,
  EXPRESSIONS,
  type Expression,
  type GroupNode,
  type ImageNode,
  type NodeBase,
  type NodeKind,
  PANEL_UNITS,
  type Paint,
  type PathNode,
  type RectNode,
  SCENE_LIMITS,
  type Scene,
  type SceneNode,
  type ScenePatch,
  type Shadow,
  type SpriteNode,
  type TextNode,
  type TextRole,
  type Timeline,
  type VideoNode,
} from './scene.ts';
export { directionOf, isolated, layoutText, type TextBounds, type TextLayout, type TextLine } from './text-layout.ts';
export {
  COLOUR_TOKENS,
  CONTRAST,
  type ColourToken,
  DAY,
  GRID,
  NIGHT,
  TEXT_PAIRS,
  THEMES,
  type Theme,
  TYPE,
  type TypeStyle,
} from './theme.ts';
export { type Moment, propertyOf, quantised, sceneAt, settled, valueAt } from './timeline.ts';
