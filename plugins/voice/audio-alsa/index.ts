import { definePlugin, maybe } from '@device-core/plugin-api';
import { audioDevice, CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import { Microphone } from './microphone.ts';
import { type ProgramOptions, playing, record } from './program.ts';
import { Speaker } from './speaker.ts';

interface Settings {
  readonly source: string;
  readonly sink: string;
  readonly playRate: number;
  readonly leadMs: number;
  readonly bufferMs: number;
  readonly periodMs: number;
  readonly arecord: string;
  readonly aplay: string;
  readonly alsaConfig?: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly lookMs: number;
}

const PERIOD_MS = 20;
const LOOK_MS = 3_000;

export const plugin = definePlugin<Record<never, never>, Settings>({
  async setup(host) {
    const { scope, log, config } = host;
    const { source, sink, playRate, leadMs, bufferMs } = config;
    const environment = {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LANG: 'C',
      ...config.environment,
      ...maybe({ ALSA_CONFIG_PATH: config.alsaConfig }),
    };
    const problems = new Map<string, string>();
    const problemOf = (what: string) => (reason: string | undefined) => {
      if (reason !== undefined && problems.get(what) !== reason) log.warn({ reason }, `the ${what} does not work`);
      if (reason === undefined) problems.delete(what);
      else problems.set(what, reason);
    };
    const common = (pcm: string, rate: number, period = PERIOD_MS) => [
      ...['-q', '-D', pcm, '-t', 'raw', '-f', 'S16_LE', '-c', '1', '-r', String(rate)],
      ...[`--period-time=${period * 1_000}`, `--buffer-time=${bufferMs * 1_000}`],
    ];
    // Two periods fit into the buffer at least.
    const capture = common(source, CAPTURE_RATE, Math.min(config.periodMs, bufferMs / 2));
    const arecord = { command: config.arecord, args: capture, environment };
    // It begins when two periods are there, not when its buffer is full.
    const aplay = {
      command: config.aplay,
      args: [...common(sink, playRate), `--start-delay=${2 * PERIOD_MS * 1_000}`, '-'],
      environment,
    };
    const microphone = new Microphone({ scope, program: arecord, onProblem: problemOf('microphone') });
    const speaker = new Speaker({ scope, program: aplay, rate: playRate, leadMs, onProblem: problemOf('speaker') });
    host.provide(audioDevice, {
      info: async () => ({ driver: 'alsa', source, sink, playRate }),
      capture: ({ signal }) => microphone.capture(signal),
      mute: (muted) => microphone.mute(muted),
      play: (chunks, { signal, started }) => speaker.play(chunks, signal, started),
    });
    /** Are the programs there? Whether the cards work is known when they are used. */
    const look = async (): Promise<void> => {
      const version = (program: ProgramOptions) => ({ ...program, args: ['--version'] });
      const runs = [record(version(arecord)), playing(version(aplay))];
      using _limit = scope.timeout('versions', LOOK_MS, () => runs.forEach(({ child }) => void child.kill('SIGKILL')));
      for (const [index, { ended, child }] of runs.entries()) {
        child.stdout?.resume();
        child.stdin?.end();
        const { reason } = await ended;
        const name = index === 0 ? 'program arecord' : 'program aplay';
        problemOf(name)(reason);
      }
    };
    await look();
    scope.interval('look for programs', config.lookMs, look);
    host.tap('health.collect', (report) => {
      const [first] = problems;
      if (!first) return report.add(host.id, { status: 'okay' });
      const message = `${first[0]}: ${first[1]}`;
      report.add(host.id, { status: 'waiting', code: 'AUDIO_UNAVAILABLE', message });
    });
  },
});
