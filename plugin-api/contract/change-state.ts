/** `undone`: it failed, and all is as it was. `failed`: what was done could not be taken back whole. */
export const CHANGE_STATES = ['waiting', 'doing', 'done', 'undoing', 'undone', 'failed'] as const;
export type ChangeState = (typeof CHANGE_STATES)[number];
