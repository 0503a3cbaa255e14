/** For drivers of panels and for renderers: the check of a frame, memory that holds what a panel shows, pictures as PNG. */
export { checkFrame, checkLevel } from './frame.ts';
export { Glass } from './glass.ts';
export { type PanelPicture, pictureOperation } from './picture.ts';
export { encodePng } from './png.ts';
