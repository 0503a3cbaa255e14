/** Levels of data that the owner lets a device send about itself: each holds those before it. */
export const CONSENT_LEVELS = ['off', 'crash', 'usage', 'full'] as const;
export type ConsentLevel = (typeof CONSENT_LEVELS)[number];

/** Is what needs `level` covered by a consent to `given`? Nothing is covered by `off`. */
export function covers(given: ConsentLevel, level: Exclude<ConsentLevel, 'off'>): boolean {
  return CONSENT_LEVELS.indexOf(level) <= CONSENT_LEVELS.indexOf(given);
}
