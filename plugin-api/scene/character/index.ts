/** The face of the device: what it is made of, and what it looks like at a moment. */
export { type CharacterMoment, type CharacterPicture, characterNodes } from './figure.ts';
export { Mouth, mouthOf } from './mouth.ts';
export {
  CHARACTER_LIMITS,
  type CharacterLook,
  type CharacterMotion,
  type CharacterMoved,
  type CharacterSpec,
  MOUTHS,
  MOVED,
  type MouthShape,
  type PartChanges,
} from './spec.ts';
