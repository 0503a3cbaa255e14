import { catalogue } from '../../core/text.ts';

/** Words of installing and updating. */
export const words = catalogue('pages/apps/install');
