import { catalogue } from '../core/text.ts';

/** Words that every page needs. */
export const common = catalogue('parts');
