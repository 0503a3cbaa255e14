/** Builds READY: facts known here, and those that the taps of session.open add in the time they have. */
import {
  type Caller,
  type HookCaller,
  type Logger,
  reasonOf,
  type Scope,
  settlesWithin,
} from '@device-core/plugin-api';
import type { ReadyMessage } from '@device-core/plugin-api/inside/services/app-sockets';
import type { Grants } from '@device-core/plugin-api/inside/services/grants';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { AppSession } from './app-session.ts';
import type { Counters } from './counters.ts';
import { announced, type RpcConfig } from './limits.ts';

export interface ReadySources {
  readonly device: DeviceInfo;
  readonly grants: Grants;
  readonly hook: HookCaller<'session.open'>;
  readonly config: RpcConfig;
  readonly counters: Counters;
  readonly log: Logger;
}

export class ReadyComposer {
  readonly #sources: ReadySources;

  constructor(sources: ReadySources) {
    this.#sources = sources;
  }

  /** Never rejects and never takes longer than `readyMs`: an app waits for READY and for nothing else. */
  async compose(session: AppSession, caller: Caller, scope: Scope): Promise<ReadyMessage> {
    const { counters, log, config } = this.#sources;
    let ready = this.bare(session, []);
    const { readyMs } = config;
    const complete = async () => {
      ready = this.bare(session, await this.#sources.grants.of(caller));
      ready = (await this.#sources.hook.promise(ready, session)) ?? ready;
    };
    try {
      const finished = complete();
      if (!(await settlesWithin(scope.clock, readyMs, finished))) {
        counters.readyTimeouts++;
        log.warn({ app: session.app, ms: readyMs }, 'READY went out without what a slow plugin had to add');
      } else await finished;
    } catch (thrown) {
      log.error({ app: session.app, reason: reasonOf(thrown) }, 'READY went out without what plugins had to add');
    }
    return ready;
  }

  /** READY without the parts of other plugins. */
  bare(session: AppSession, capabilities: readonly string[]): ReadyMessage {
    const { device, config } = this.#sources;
    return {
      session: session.id,
      app: session.app,
      core: device.core,
      capabilities,
      subscriptions: [],
      limits: announced(config),
      snapshot: {},
    };
  }
}
