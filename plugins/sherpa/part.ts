/** One engine of the plugin: there, waiting for its model, or refused. */
import {
  type ComponentHealth,
  CoreError,
  type EngineDescription,
  type EngineKind,
  type Engines,
  reasonOf,
} from '@device-core/plugin-api';
import type { Maker } from './makers.ts';
import { Missing } from './models.ts';

export class Part<K extends EngineKind = EngineKind> {
  readonly kind: K;
  readonly #make: Maker<Engines[K]>;
  readonly #register: (description: EngineDescription, engine: Engines[K]) => void;
  #health: ComponentHealth = { status: 'waiting', message: 'it is looked for' };

  constructor(
    kind: K,
    make: Maker<Engines[K]>,
    register: (description: EngineDescription, engine: Engines[K]) => void,
  ) {
    this.kind = kind;
    this.#make = make;
    this.#register = register;
  }

  get health(): ComponentHealth {
    return this.#health;
  }

  async look(): Promise<void> {
    if (this.#health.status === 'okay') return;
    try {
      const { description, engine } = await this.#make();
      this.#register(description, engine);
      this.#health = { status: 'okay' };
    } catch (error) {
      const message = reasonOf(error);
      const code = error instanceof CoreError ? error.code : 'ENGINE_MISSING';
      this.#health = { status: error instanceof Missing ? 'waiting' : 'error', code, message };
    }
  }
}
