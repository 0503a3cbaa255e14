import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { speech } from '@device-core/plugin-api/services/speech';
import { ENGINE, Espeak } from './engine.ts';
import { printed } from './program.ts';

interface Settings {
  readonly command: string;
  readonly voice: string;
  readonly wordsPerMinute: number;
  readonly lookMs: number;
}

const LOOK_MS = 5_000;

/** The second column of `--voices` are language tags. */
export function tagsOf(table: string): readonly string[] {
  const tags = table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/)[1]?.toLowerCase() ?? '');
  return [...new Set(tags.filter((tag) => /^[a-z]{2,3}(-[a-z0-9]+)*$/.test(tag)))].sort();
}

export const plugin = definePlugin<{ speech: typeof speech }, Settings>({
  requires: { speech },
  async setup(host, services) {
    const { scope, log, config } = host;
    const { command, voice, wordsPerMinute, lookMs } = config;
    let registered: AsyncDisposable | undefined;
    let problem: string | undefined;
    const gone = async (): Promise<void> => {
      const was = registered;
      registered = undefined;
      await was?.[Symbol.asyncDispose]();
    };
    scope.defer(`tts engine ${ENGINE}`, gone);
    /** A program that is installed later is found then. */
    const look = async (): Promise<void> => {
      if (registered) return;
      try {
        const table = await printed(scope, command, ['--voices'], LOOK_MS);
        problem =
          table === undefined ? `there is no program ${command}: install the Debian package espeak-ng` : undefined;
        if (table === undefined || scope.signal.aborted) return;
        const voices = tagsOf(table);
        const onAbsent = () => void gone();
        const engine = new Espeak({ scope, command, voices, voice, wordsPerMinute, onAbsent });
        const languages = [...new Set(voices.map((tag) => tag.split('-')[0]!))];
        const description = {
          id: ENGINE,
          title: 'eSpeak NG',
          languages,
          stage: 'local',
          streaming: true,
          voices,
        } as const;
        const speak = { speak: (...args: Parameters<Espeak['speak']>) => engine.speak(...args) };
        registered = services.speech.register('tts', description, speak, `plugin.${host.id}`);
        log.info({ voices: voices.length }, 'espeak-ng is there');
      } catch (error) {
        problem = reasonOf(error);
      }
    };
    await look();
    scope.interval('look for espeak-ng', lookMs, look);
    host.tap('health.collect', (report) => {
      if (registered) return report.add(host.id, { status: 'okay' });
      report.add(host.id, { status: 'waiting', code: 'ENGINE_MISSING', message: problem ?? 'espeak-ng has gone' });
    });
  },
});
