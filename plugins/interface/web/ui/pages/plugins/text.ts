import { catalogue } from '../../core/text.ts';

export const text = catalogue('pages/plugins');
