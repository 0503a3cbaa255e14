export { cardScene } from './card-scene.ts';
export { pagerNodes, pagesOf, turnedPage } from './pages.ts';
export type { CardOptions } from './template.ts';
