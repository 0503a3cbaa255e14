/** The face of the device: what it is made of, and what it looks like at a moment. */
export { type CharacterMoment, type CharacterPicture, characterNodes } from './figure.ts';
export { Mouth, mouthOf } from './mouth.ts';
export {
  CHARACTER_LIMITS,
  type Changes,
  type CharacterSpec,
  type Look,
  MOUTHS,
  type Motion,
  type MouthShape,
  MOVED,
  type Moved,
} from './spec.ts';
