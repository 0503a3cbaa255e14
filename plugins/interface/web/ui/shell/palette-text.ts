import { catalogue } from '../core/text.ts';

export const seek = catalogue('shell/palette');
