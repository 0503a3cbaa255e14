export { cardScene } from './card-scene.ts';
export { type Direction, directed, directionOfLocale } from './direction.ts';
export { turnedPage } from './pages.ts';
export type { CardOptions } from './template.ts';
