import { type CallContext, callerName, type Logger, type Scope } from '@device-core/plugin-api';
import { LOG_LEVELS, type LogControl, type LogLevel } from '@device-core/plugin-api/inside/services/log-control';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';

/** Longest time of a changed level in milliseconds. Forgotten debug lines would wear out the disk. */
const LONGEST = 86_400_000;
const DEFAULT = 600_000;

interface Params {
  readonly component: string;
  readonly level: LogLevel;
  readonly forMs: number;
}

interface ComponentLevel {
  readonly component: string;
  readonly level: LogLevel;
  /** Milliseconds since the Unix epoch. */
  readonly until?: number;
  readonly by?: string;
}

interface Held {
  readonly until: number;
  readonly by: string;
  readonly part: AsyncDisposable;
}

const LEVEL: JsonSchema = { enum: LOG_LEVELS };
const COMPONENT: JsonSchema = {
  type: 'object',
  required: ['component', 'level'],
  properties: {
    component: { type: 'string', description: '`core`, or the id of a plugin' },
    level: LEVEL,
    until: { type: 'integer', description: 'milliseconds since the Unix epoch' },
    by: { type: 'string', description: 'who asked for it' },
  },
};

/** Requested levels of components: each ends by itself, and with this plugin. */
export class Levels {
  readonly #control: LogControl;
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #held = new Map<string, Held>();

  constructor(control: LogControl, scope: Scope, log: Logger) {
    this.#control = control;
    this.#scope = scope;
    this.#log = log;
  }

  operations() {
    return [this.#listing(), this.#setting()] as const;
  }

  #listing(): Operation<object, { readonly level: LogLevel; readonly components: readonly ComponentLevel[] }> {
    return {
      name: 'logs.levels',
      summary: 'log level of each component, with the end of a change',
      capability: 'system.logs',
      params: { type: 'object' },
      result: {
        type: 'object',
        required: ['level', 'components'],
        properties: {
          level: { ...LEVEL, description: 'of every unchanged component' },
          components: { type: 'array', items: COMPONENT },
        },
      },
      rest: { method: 'GET', path: '/logs/levels' },
      cli: { columns: ['component', 'level', ['UNTIL', '{until:time}'], 'by'] },
      errors: [],
      run: async () => {
        const { level, components } = await this.#control.levels();
        const told = Object.entries(components).map(([component, own]) => {
          const held = this.#held.get(component);
          return { component, level: own, ...(held && { until: held.until, by: held.by }) };
        });
        return { level, components: told };
      },
    };
  }

  #setting(): Operation<Params, ComponentLevel> {
    return {
      name: 'logs.setLevel',
      summary: 'let a component log more, or less, for a while',
      description:
        'It ends by itself, when the Core does, and when the plugin `logs` stops. Who asked for it is written to the log.',
      capability: 'system.log-levels',
      params: {
        type: 'object',
        required: ['component', 'level'],
        properties: {
          component: { type: 'string', minLength: 1, maxLength: 64, description: '`core`, or the id of a plugin' },
          level: LEVEL,
          forMs: {
            type: 'integer',
            minimum: 1_000,
            maximum: LONGEST,
            default: DEFAULT,
            description: 'milliseconds; ten minutes if absent',
          },
        },
      },
      result: COMPONENT,
      rest: { method: 'PUT', path: '/logs/levels/:component' },
      cli: { hide: true },
      errors: ['PLUGIN_NOT_FOUND'],
      run: (params, { caller }) => this.#set(params, caller),
    };
  }

  async #set({ component, level, forMs }: Params, caller: CallContext['caller']): Promise<ComponentLevel> {
    const by = callerName(caller);
    const handle = await this.#control.setLevel(component, level);
    await this.#held.get(component)?.part[Symbol.asyncDispose]();
    const part = this.#scope.child(`level of ${component}`);
    part.use('level', handle);
    const until = this.#scope.clock.now() + forMs;
    const held: Held = { until, by, part };
    this.#held.set(component, held);
    part.defer('what is told of it', () => {
      if (this.#held.get(component) === held) this.#held.delete(component);
    });
    part.timeout('its end', forMs, () => {
      this.#log.info({ component, level, by }, `${component} logs as before`);
      void part[Symbol.asyncDispose]();
    });
    this.#log.info(
      { component, level, by, until },
      `${component} logs from ${level} on, as ${by} asked for ${duration(forMs)}`,
    );
    return { component, level, until, by };
  }
}

function duration(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}
