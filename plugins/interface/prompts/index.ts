import { join } from 'node:path';
import { CoreError, definePlugin, type PluginHost, reasonOf } from '@device-core/plugin-api';
import { answersOf, type ConsentPolicy, policyProblem } from '@device-core/plugin-api/inside/consent';
import { consents } from '@device-core/plugin-api/inside/services/consents';
import { panelAnswers } from '@device-core/plugin-api/inside/services/panel-answers';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { type Prompt, type PromptOutcome, prompts } from '@device-core/plugin-api/services/prompts';
import { Board, type PromptState } from './board.ts';
import { KeptAnswers } from './kept-answers.ts';
import { promptOperations } from './operations.ts';
import { PanelDoor } from './panel.ts';

interface PromptsConfig {
  readonly questions: number;
  readonly consent: ConsentPolicy;
}

const requires = { device, operations };

export const plugin = definePlugin<typeof requires, PromptsConfig>({
  requires,
  async setup(host, services) {
    const { config, log, scope } = host;
    const problem = policyProblem(config.consent);
    if (problem !== undefined) throw new CoreError('PARAMS_INVALID', { where: 'config.consent', reason: problem });
    const { paths } = await services.device.info();
    const path = join(paths.var, 'prompts', 'consents.json');
    const answers = await KeptAnswers.open({ path, scope, log, policy: config.consent });
    const board = scope.use(
      'questions',
      new Board({
        clock: host.clock,
        most: config.questions,
        told: (prompt, state, outcome) => tell(host, prompt, state, outcome),
        keep: async (prompt, outcome) => {
          if (prompt.kind === 'consent') await answers.keep(prompt.subject, answersOf(prompt, outcome));
        },
      }),
    );
    host.tap('health.collect', async (report) => {
      answers.tell(report);
      const open = await board.list();
      if (open.length > 0)
        report.add('prompts', { status: 'okay', message: `questions that wait for an answer: ${open.length}` });
    });
    host.provide(prompts, board);
    host.provide(consents, answers);
    host.provide(panelAnswers, new PanelDoor(board));
    for (const operation of promptOperations(board, answers))
      scope.use(operation.name, services.operations.add(operation));
  },
});

/** Views hear the event and then ask for the list; in the terminal it is a line. What an app says of itself stands in neither. */
function tell(host: PluginHost<PromptsConfig>, prompt: Prompt, state: PromptState, outcome?: PromptOutcome): void {
  const { id, kind, subject, until, what } = prompt;
  const said = { prompt: id, kind, subject };
  if (state === 'open') {
    const rights = kind === 'confirm' ? [] : what.map(({ capability }) => capability);
    const asked = rights.join(', ') || kind;
    host.log.warn(said, `${subject} asks for ${asked}: devicectl prompts shows it, devicectl allow ${id} allows it`);
  } else host.log.info({ ...said, state, allow: outcome?.allow, by: outcome?.by }, `question ${id} is ${state}`);
  try {
    host.bus.publish('prompt.state', { id, kind, subject, state, until });
  } catch (thrown) {
    host.log.warn({ ...said, reason: reasonOf(thrown) }, 'cannot publish the state of a question');
  }
}
