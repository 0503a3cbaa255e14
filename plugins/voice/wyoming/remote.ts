/** One external engine: registered as long as it is there, looked for as long as it is not. */
import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Intents } from '@device-core/plugin-api/services/intents';
import type { EngineDescription, Speech } from '@device-core/plugin-api/services/speech';
import { isLocal, parseAddress } from './address.ts';
import { Link } from './link.ts';
import { type RemoteService, serviceOf } from './remote-info.ts';
import { RemoteIntent } from './remote-intent.ts';
import { RemoteStt } from './remote-stt.ts';
import { RemoteTts } from './remote-tts.ts';
import { RemoteWake } from './remote-wake.ts';
import type { EngineSettings, Settings } from './settings.ts';
import { tagOf } from './words.ts';

export interface World {
  readonly scope: Scope;
  readonly log: Logger;
  readonly speech: Speech;
  /** Undefined: nobody is there whom an intent engine could serve. */
  readonly intents: () => Intents | undefined;
  readonly owner: string;
  readonly settings: Settings;
}

/** Looks in vain before an engine that was there counts as gone: a service that computes may miss one. */
const MOST_MISSES = 2;

export class Remote {
  readonly name: string;
  readonly #engine: EngineSettings;
  readonly #world: World;
  readonly #link: Link;
  readonly #stage: 'local' | 'cloud';
  #problem: string | undefined = 'it has not answered yet';
  #registration: (Scope & AsyncDisposable) | undefined;
  #known = '';
  #misses = 0;
  #wake = Promise.withResolvers<void>();

  /** Throws PARAMS_INVALID (its address). */
  constructor(engine: EngineSettings, world: World) {
    const { scope, settings } = world;
    const address = parseAddress(engine.uri);
    this.name = `${engine.kind} engine ${engine.id}`;
    this.#engine = engine;
    this.#world = world;
    this.#stage = engine.stage ?? (isLocal(address) ? 'local' : 'cloud');
    this.#link = new Link(this.name, address, scope, settings, () => this.#wake.resolve());
  }

  /** Why it is not there; undefined while it is. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get kind(): EngineSettings['kind'] {
    return this.#engine.kind;
  }

  /** Registers anew after its consumer has come or gone. */
  async renew(): Promise<void> {
    await this.#unregister();
    this.#wake.resolve();
  }

  /** Looks after the engine until the scope ends. */
  async watch(): Promise<void> {
    const { scope, settings, log } = this.#world;
    while (!scope.signal.aborted) {
      let pause = settings.checkMs;
      try {
        // One that is at work is there; it may have no time for other questions.
        if (!this.#registration || !this.#link.inUse) await this.#present(await this.#ask());
        this.#misses = 0;
      } catch (error) {
        if (scope.signal.aborted) return;
        this.#misses++;
        if (!this.#registration || this.#misses >= MOST_MISSES) await this.#absent(reasonOf(error));
        else log.debug({ engine: this.name, error: reasonOf(error) }, 'an external engine did not answer');
        pause = Math.min(settings.mostPauseMs, settings.leastPauseMs * 2 ** Math.min(this.#misses - 1, 20));
      }
      await this.#sleep(pause);
    }
  }

  async #ask(): Promise<RemoteService> {
    const { signal } = this.#world.scope;
    await using use = await this.#link.open(signal);
    const { connection } = use;
    await connection.send('describe');
    connection.expect('its description', this.#world.settings.answerMs);
    for (;;) {
      const event = await connection.next();
      if (!event) throw this.#link.hungUp('its description');
      if (event.type === 'error') throw this.#link.refused(event);
      if (event.type !== 'info') continue;
      const service = serviceOf(event.data, this.#engine.kind);
      if (!service) throw this.#link.failed(`${this.#engine.uri} offers no ${this.#engine.kind}`);
      const { languages } = this.#engine;
      return languages ? { ...service, languages } : service;
    }
  }

  async #present(service: RemoteService): Promise<void> {
    const { scope, log } = this.#world;
    const known = JSON.stringify(service);
    if (this.#registration && known === this.#known) return;
    await this.#unregister();
    const child = scope.child(this.name);
    this.#registration = child;
    try {
      const registered = this.#register(service);
      child.use('registration', registered);
      // Across a border a refusal comes later.
      await registered;
    } catch (error) {
      await this.#unregister();
      throw error;
    }
    this.#known = known;
    this.#problem = undefined;
    log.info({ engine: this.name, uri: this.#engine.uri }, 'an external engine is there');
  }

  /** Throws PARAMS_INVALID, ENGINE_MISSING. */
  #register(service: RemoteService): AsyncDisposable {
    const { speech, owner } = this.#world;
    const { kind, model, phrases = {}, intents = {} } = this.#engine;
    const description = this.#description(service);
    switch (kind) {
      case 'stt':
        return speech.register(kind, description, new RemoteStt(this.#link, service, model), owner);
      case 'tts':
        return speech.register(kind, description, new RemoteTts(this.#link, service, this.#engine), owner);
      case 'wake':
        return speech.register(kind, description, new RemoteWake(this.#link, service, phrases), owner);
      case 'intent': {
        const ours = this.#world.intents();
        if (!ours) throw new CoreError('ENGINE_MISSING', { kind, reason: 'no installed app has intents for it' });
        const { id, title, languages, stage } = description;
        const interpreter = new RemoteIntent(this.#link, service, intents);
        // Its own object across a border: the class has more than is asked for.
        const interpret = (...args: Parameters<RemoteIntent['interpret']>) => interpreter.interpret(...args);
        return ours.addInterpreter({ id, title, languages, stage }, { interpret }, owner);
      }
    }
  }

  #description({ title, languages, models, streaming }: RemoteService): EngineDescription {
    const { kind, id } = this.#engine;
    const voices = kind === 'tts' ? { voices: models.map(({ name }) => name) } : {};
    return {
      id,
      title: `${title} (Wyoming)`,
      languages: languages.map(tagOf),
      stage: this.#stage,
      ...(kind === 'stt' && { streaming }),
      ...voices,
    };
  }

  async #absent(reason: string): Promise<void> {
    const { log } = this.#world;
    if (this.#problem !== reason) log.warn({ engine: this.name, reason }, 'an external engine is not there');
    this.#problem = reason;
    await this.#unregister();
  }

  async #unregister(): Promise<void> {
    const registration = this.#registration;
    this.#registration = undefined;
    this.#known = '';
    await registration?.[Symbol.asyncDispose]();
  }

  /** Shorter where a request finds that the service is gone. */
  async #sleep(ms: number): Promise<void> {
    const { scope } = this.#world;
    if (scope.signal.aborted) return;
    this.#wake = Promise.withResolvers();
    const { promise, resolve } = this.#wake;
    scope.signal.addEventListener('abort', resolve as () => void, { once: true });
    try {
      using _timer = scope.timeout(`look for ${this.name}`, ms, resolve);
      await promise;
    } finally {
      scope.signal.removeEventListener('abort', resolve as () => void);
    }
  }
}
