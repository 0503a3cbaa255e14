import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { definePlugin, reasonOf, type Scope, whileThere } from '@device-core/plugin-api';
import { readCharacter } from '@device-core/plugin-api/inside/character/read';
import { apps as appsService } from '@device-core/plugin-api/services/apps';
import { audio as audioService } from '@device-core/plugin-api/services/audio';
import { display } from '@device-core/plugin-api/services/display';
import { type Intents, intents as intentsService } from '@device-core/plugin-api/services/intents';
import { type Voice, type VoiceState, voice as voiceService } from '@device-core/plugin-api/services/voice';
import { Face } from './face.ts';
import { TurnScreen } from './turn-screen.ts';

interface Settings {
  /** One that is shipped, or a folder. */
  readonly character: string;
}

interface Words {
  readonly turn: string;
  readonly text: string;
  readonly stage: 'local' | 'cloud';
}

const SHIPPED = join(import.meta.dirname, 'characters');
const FILE = 'character.yaml';

export const plugin = definePlugin<{ display: typeof display }, Settings>({
  requires: { display },
  async setup(host, services) {
    const { scope, log, bus, config } = host;
    let voice: Voice | undefined;
    let intents: Intents | undefined;
    const face = new Face({ scope, log, display: services.display, audio: whileThere(host, audioService) });
    const screen = new TurnScreen({
      scope,
      log,
      face,
      display: services.display,
      voice: () => voice,
      intents: () => intents,
      apps: whileThere(host, appsService),
    });

    const folder = isAbsolute(config.character) ? config.character : join(SHIPPED, config.character);
    let problem: string | undefined;
    try {
      const file = join(folder, FILE);
      await services.display.dress(readCharacter(await readFile(file, 'utf8'), file));
    } catch (error) {
      problem = reasonOf(error);
      log.error({ reason: problem }, 'the character cannot be shown');
      const file = join(SHIPPED, 'pip', FILE);
      await services.display.dress(readCharacter(await readFile(file, 'utf8'), file));
    }

    bus.subscribe('audio.wake', ({ payload }) => screen.wake((payload as Words).turn));
    bus.subscribe('audio.state', ({ payload }) => {
      const { state, turn } = payload as { readonly state: VoiceState; readonly turn?: string };
      face.follow(state);
      screen.state(state, turn);
    });
    for (const topic of ['audio.stt.partial', 'audio.stt.final'])
      bus.subscribe(topic, ({ payload }) => {
        const { turn, text, stage } = payload as Words;
        screen.words(turn, text, stage);
      });
    scope.use(
      'touches of the turn',
      services.display.onInput((_, { phase, tap }) => {
        if (phase === 'tap') screen.touched(tap);
      }),
    );
    scope.use(
      'surroundings of the turn',
      services.display.onSurroundings(() => screen.redraw()),
    );

    host.when(voiceService, async (service, part: Scope) => {
      voice = service;
      part.defer('voice in use', () => {
        if (voice !== service) return;
        voice = undefined;
        face.follow('idle');
        screen.leave();
      });
      const { state, turn } = await service.state();
      face.follow(state);
      screen.state(state, turn);
    });
    host.when(intentsService, (service, part) => {
      intents = service;
      part.use(
        'changes of what can be said',
        service.onChange(() => screen.forgetExamples()),
      );
      part.defer('intents in use', () => {
        if (intents === service) intents = undefined;
      });
    });
    host.tap('health.collect', (report) => {
      if (problem === undefined) report.add('character', { status: 'okay' });
      else report.add('character', { status: 'error', code: 'SCENE_INVALID', message: `Pip stands in: ${problem}` });
    });
  },
});
