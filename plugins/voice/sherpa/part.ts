/** One engine of the plugin: there, waiting for its model, or refused. */

import { CoreError, reasonOf } from '@device-core/plugin-api';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import type { EngineDescription, EngineKind, Engines } from '@device-core/plugin-api/services/speech';
import type { Maker } from './makers.ts';
import { Missing } from './models.ts';

export class Part<K extends EngineKind = EngineKind> {
  readonly kind: K;
  readonly #maker: Maker<Engines[K]>;
  readonly #register: (description: EngineDescription, engine: Engines[K]) => void;
  /** State of the refused files. */
  #refused: string | undefined;
  #health: ComponentHealth = { status: 'waiting', message: 'it is looked for' };

  constructor(
    kind: K,
    maker: Maker<Engines[K]>,
    register: (description: EngineDescription, engine: Engines[K]) => void,
  ) {
    this.kind = kind;
    this.#maker = maker;
    this.#register = register;
  }

  get health(): ComponentHealth {
    return this.#health;
  }

  async look(): Promise<void> {
    if (this.#health.status === 'okay') return;
    const stamp = await this.#maker.stamp();
    // A trial is dear: what was refused is tried again when it has changed.
    if (stamp === this.#refused) return;
    try {
      const { description, engine } = await this.#maker.make();
      this.#register(description, engine);
      this.#health = { status: 'okay' };
    } catch (error) {
      const message = reasonOf(error);
      const code = error instanceof CoreError ? error.code : 'ENGINE_MISSING';
      this.#refused = code === 'MODEL_INVALID' || code === 'PARAMS_INVALID' ? stamp : undefined;
      this.#health = { status: error instanceof Missing ? 'waiting' : 'error', code, message };
    }
  }
}
