import { dirname, join } from 'node:path';
import { type AppLeftOut, type AppManifest, type FunctionLeftOut, reasonOf } from '@device-core/plugin-api';
import { type AppPlace, environmentOf } from './app-place.ts';
import { type AppSocketPaths, shareSocket } from './app-sandbox.ts';
import type { GrantDecision } from './grant-decision.ts';
import type { Surroundings } from './surroundings.ts';

/** What its process is told and shown. */
export interface Lent {
  readonly environment: Readonly<Record<string, string>>;
  readonly sockets: AppSocketPaths;
  /** For this run alone. */
  readonly token: string;
}

/** What an app is lent for the time it runs: grants, a token, a socket, its place in the registry. Each step has its undo, and both may be repeated. */
export class AppLease {
  readonly #manifest: AppManifest;
  readonly #place: AppPlace;
  readonly #around: Surroundings;
  #functionsLeftOut: readonly AppLeftOut[] = [];
  #configRefused: AppLeftOut | undefined;

  constructor(manifest: AppManifest, place: AppPlace, around: Surroundings) {
    this.#manifest = manifest;
    this.#place = place;
    this.#around = around;
  }

  /** The socket is there before it runs. */
  async take(decision: GrantDecision): Promise<Lent> {
    const { grants, identity, appSockets, config } = this.#around;
    const { id, name } = this.#manifest;
    await grants.set({ kind: 'app', id }, decision.granted);
    const token = await identity.issue(id);
    const { path: rpc } = await appSockets.open({ id, name });
    await this.describeConfig();
    await this.registerFunctions();
    const { http, url } = await this.#addresses();
    const folder = await shareSocket(http, this.#around.device.paths.run);
    return {
      token,
      environment: environmentOf(id, this.#place, { rpc, http, url }, config),
      sockets: { own: dirname(rpc), shared: { path: http, ...(folder === undefined ? {} : { folder }) } },
    };
  }

  /** A run is over, another may follow: the token is void, nothing else. */
  async voidToken(): Promise<void> {
    await this.#undo('token', () => this.#around.identity.revoke(this.#manifest.id));
  }

  /** The app is told to stop; its socket goes. */
  async closeSocket(reason: string): Promise<void> {
    await this.#undo('socket', () => this.#around.appSockets.close(this.#manifest.id, reason));
  }

  /** Everything back. */
  async end(): Promise<void> {
    await this.voidToken();
    await this.#undo('grants', () => this.#around.grants.clear({ kind: 'app', id: this.#manifest.id }));
    this.#functionsLeftOut = [];
    await this.#undo('functions', async () => this.#around.optional.functions?.unregister(this.#manifest.id));
  }

  /** What of the manifest is not in force, and why. */
  get leftOut(): readonly AppLeftOut[] {
    return [...(this.#configRefused ? [this.#configRefused] : []), ...this.#functionsLeftOut];
  }

  /** A function that is refused is the author's or the operator's to mend, no reason for the app, or for the others, not to run. */
  async registerFunctions(): Promise<void> {
    const { id, functions } = this.#manifest;
    if (!functions || functions.length === 0) return;
    try {
      const answer = await this.#around.optional.functions?.offer({ app: id, functions });
      this.#functionsLeftOut = (answer?.leftOut ?? []).map(partOf);
    } catch (thrown) {
      this.#around.log.warn({ app: id, reason: reasonOf(thrown) }, 'functions of the manifest are not registered');
    }
  }

  /** The registry has changed: one that lacked something may have come in. */
  async lookForFunctions(): Promise<void> {
    const { id } = this.#manifest;
    this.#functionsLeftOut = ((await this.#around.optional.functions?.leftOut({ app: id })) ?? []).map(partOf);
  }

  async describeConfig(): Promise<void> {
    const { id, config } = this.#manifest;
    if (!config) return;
    try {
      await this.#around.optional.config?.describeApp(id, config);
      this.#configRefused = undefined;
    } catch (thrown) {
      this.#configRefused = { part: 'config', reason: reasonOf(thrown) };
      this.#around.log.warn({ app: id, reason: reasonOf(thrown) }, 'configuration of the manifest is not in force');
    }
  }

  async #addresses(): Promise<{ readonly http: string; readonly url: string | undefined }> {
    const addresses = (await this.#around.optional.http?.addresses()) ?? [];
    const socket = addresses.find((address) => address.startsWith('unix:'))?.slice('unix:'.length);
    return {
      http: socket ?? join(this.#around.device.paths.run, 'core.sock'),
      url: addresses.find((address) => address.startsWith('http:')),
    };
  }

  /** Every part is taken back, whatever becomes of another. */
  async #undo(part: string, undo: () => Promise<unknown>): Promise<void> {
    try {
      await undo();
    } catch (thrown) {
      this.#around.log.warn({ app: this.#manifest.id, part, reason: reasonOf(thrown) }, 'cannot take back from an app');
    }
  }
}

function partOf({ name, reason, capability, hint }: FunctionLeftOut): AppLeftOut {
  return { part: `function ${name}`, reason, ...(capability && { capability }), ...(hint && { hint }) };
}
