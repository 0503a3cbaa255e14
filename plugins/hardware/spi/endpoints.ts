/** What the bridge offers, compared with what the handles want; for /health. */
import { type Bridge, type HealthReport, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { HandleTable } from './handles.ts';

export class Endpoints {
  readonly #table: HandleTable;
  readonly #log: Logger;
  /** Labels of the bridge's endpoints while its link is up. */
  #names: ReadonlySet<string> | undefined;
  #waitsFor = 'no plugin provides the service bridge';

  constructor(table: HandleTable, log: Logger) {
    this.#table = table;
    this.#log = log;
  }

  async attach(bridge: Bridge, scope: Scope): Promise<void> {
    const read = async () => {
      try {
        this.#names = new Set((await bridge.endpoints()).map((endpoint) => endpoint.name));
      } catch (error) {
        this.#names = undefined;
        this.#waitsFor = reasonOf(error);
      }
    };
    scope.defer('endpoints of the bridge', () => {
      this.#names = undefined;
      this.#waitsFor = 'no plugin provides the service bridge';
    });
    scope.use(
      'link listener',
      bridge.onLink((state, reason) => {
        if (state === 'up' || state === 'degraded') {
          void read();
          return;
        }
        this.#names = undefined;
        this.#waitsFor = `the link to the IO bridge is ${state}${reason ? ` (${reason})` : ''}`;
      }),
    );
    await read();
    this.#log.debug({ endpoints: [...(this.#names ?? [])] }, 'bridge attached');
  }

  tell(report: HealthReport): void {
    const names = this.#names;
    if (!names) {
      report.add('spi', { status: 'waiting', code: 'NOT_INITIALIZED', message: this.#waitsFor });
      return;
    }
    const lost = this.#table.list().filter((handle) => !names.has(handle.endpoint));
    if (lost.length === 0) {
      report.add('spi', { status: 'okay' });
      return;
    }
    const which = lost.map((handle) => `${handle.name} (${handle.endpoint})`).join(', ');
    report.add('spi', { status: 'error', code: 'NO_ENDPOINT', message: `the bridge has no endpoint for ${which}` });
  }
}
