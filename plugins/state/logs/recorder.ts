import { mkdir, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, callerName, type Logger, type PluginHost, reasonOf } from '@device-core/plugin-api';
import { replaceFile } from '@device-core/plugin-api/durable';
import { Serial } from '@device-core/plugin-api/inside/serial';
import type { LogRecorder } from '@device-core/plugin-api/inside/services/log-control';
import type { Operation } from '@device-core/plugin-api/services/operations';

/** Recordings that are kept; the oldest goes. */
const MOST_FILES = 5;
const NAME = /^\d{13,16}-[a-z0-9.-]{1,80}\.jsonl$/;
/** Least pause between two recordings of a repeated failure. */
const PAUSE_MS = 60_000;
const FAILED = new Set(['failed', 'quarantined']);

interface Written {
  readonly file: string;
  readonly lines: number;
}

/** The flight recorder: it writes the last lines down at a failure, or on request. */
export class FlightRecorder {
  readonly #recorder: LogRecorder | undefined;
  readonly #folder: string;
  readonly #log: Logger;
  readonly #clock: PluginHost['clock'];
  readonly #writtenAt = new Map<string, number>();
  readonly #turns = new Serial();

  constructor(recorder: LogRecorder | undefined, folder: string, { log, clock }: Pick<PluginHost, 'log' | 'clock'>) {
    this.#recorder = recorder;
    this.#folder = folder;
    this.#log = log;
    this.#clock = clock;
  }

  /** Writes it down when a plugin fails, or an app is not started any more. */
  watch(bus: PluginHost['bus']): void {
    bus.subscribe(
      ['plugin.state', 'app.state'],
      async ({ topic, payload }) => {
        const { plugin, app, state } = payload as Readonly<Record<'plugin' | 'app' | 'state', string>>;
        const subject = topic === 'plugin.state' ? plugin : app;
        if (!FAILED.has(state) || (topic === 'app.state' && state === 'failed')) return;
        const now = this.#clock.monotonic();
        if (now - (this.#writtenAt.get(subject) ?? -PAUSE_MS) < PAUSE_MS) return;
        if (this.#writtenAt.size >= 1_000) this.#writtenAt.clear();
        this.#writtenAt.set(subject, now);
        await this.#turns
          .run(() => this.#write(subject))
          .catch((error) =>
            this.#log.warn(
              { subject, reason: reasonOf(error) },
              'what was said before the failure cannot be written down',
            ),
          );
      },
      { retained: false },
    );
  }

  operation(): Operation<object, Written> {
    return {
      name: 'logs.dump',
      summary: 'write down the last lines of the flight recorder, those at level debug among them',
      capability: 'system.log-levels',
      params: { type: 'object' },
      result: {
        type: 'object',
        required: ['file', 'lines'],
        properties: {
          file: { type: 'string', description: 'below log/flight; the five newest are kept' },
          lines: { type: 'integer' },
        },
      },
      rest: { method: 'POST', path: '/logs/dump' },
      cli: { done: '{lines} lines in {file}' },
      errors: ['UNAVAILABLE'],
      run: (_, { caller }) => this.#turns.run(() => this.#write(callerName(caller))),
    };
  }

  async #write(subject: string): Promise<Written> {
    if (!this.#recorder)
      throw new CoreError('UNAVAILABLE', { what: 'the flight recorder', reason: 'the SKU switches it off' });
    const { lines, dropped } = await this.#recorder.read();
    const at = this.#clock.now();
    const name = subject
      .toLowerCase()
      .replace(/[^a-z0-9.-]/g, '-')
      .slice(0, 80);
    const file = `${String(Math.max(0, at)).padStart(13, '0')}-${name}.jsonl`;
    const msg = `${lines.length} lines of the flight recorder because of ${subject}, ${dropped} more came too fast`;
    const head = JSON.stringify({ level: 30, time: at, dropped, msg });
    await mkdir(this.#folder, { recursive: true, mode: 0o750 });
    await replaceFile(join(this.#folder, file), `${[head, ...lines].join('\n')}\n`, { mode: 0o640 });
    await this.#prune();
    this.#log.info({ file, lines: lines.length }, `the flight recorder is written down because of ${subject}`);
    return { file, lines: lines.length };
  }

  async #prune(): Promise<void> {
    const all = (await readdir(this.#folder)).sort();
    const names = all.filter((name) => NAME.test(name));
    const remains = all.filter((name) => name.endsWith('.tmp')); // left by a power cut: there is no other writer now
    for (const name of [...names.slice(0, Math.max(0, names.length - MOST_FILES)), ...remains])
      await unlink(join(this.#folder, name)).catch(() => undefined); // the next one tries again
  }
}
