/** The languages in which the device has sentences and answers of its own. */
import type { DeviceTexts } from './device-texts.ts';
import { ENGLISH } from './texts-en.ts';

export const LANGUAGES: readonly DeviceTexts[] = [ENGLISH];
