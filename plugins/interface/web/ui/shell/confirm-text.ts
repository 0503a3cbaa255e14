import { catalogue } from '../core/text.ts';

export const words = catalogue('shell/confirm');
