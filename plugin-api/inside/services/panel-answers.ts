import { serviceRef } from '../../contract/service-ref.ts';
import type { PromptOutcome } from '../../services/prompts.ts';

/** The Core's own panel answers: for plugin `system-view` of the tree, and for no other. Its answers are kept with `by: panel`. */
export interface PanelAnswers {
  /** As `prompts.answer`. Throws CALLER_DENIED (another plugin), CONSENT_NOT_FOUND, PARAMS_INVALID, and the codes of a disk. */
  answer(id: string, allow: readonly string[]): Promise<PromptOutcome>;
}

export const panelAnswers = serviceRef<PanelAnswers>('panel-answers', '1.0.0', 'tree');
