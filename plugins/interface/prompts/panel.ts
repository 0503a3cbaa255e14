/**
 * The narrow way by which the Core's own panel answers. Whoever stands before the device owns it; no other plugin may
 * say that somebody did.
 */
import { CoreError, FOR_USER, type ServesEachUser, type ServiceUser } from '@device-core/plugin-api';
import type { PanelAnswers } from '@device-core/plugin-api/inside/services/panel-answers';
import type { PromptOutcome } from '@device-core/plugin-api/services/prompts';
import type { Board } from './board.ts';

const PANEL = 'system-view';

export class PanelDoor implements PanelAnswers, ServesEachUser<PanelAnswers> {
  readonly #board: Board;

  constructor(board: Board) {
    this.#board = board;
  }

  [FOR_USER]({ plugin, outside }: ServiceUser): PanelAnswers {
    if (plugin !== PANEL || outside === true) return { answer: () => denied(plugin) };
    return { answer: (id, allow) => this.#board.answer(id, allow, 'panel') };
  }

  answer(): Promise<PromptOutcome> {
    return denied('an unnamed caller');
  }
}

async function denied(plugin: string): Promise<never> {
  const reason = `plugin ${plugin} is not ${PANEL}, the panel of the device`;
  throw new CoreError('CALLER_DENIED', { verb: 'answer a question', reason });
}
