import { basename, join } from 'node:path';
import { maybe, reasonOf } from '@device-core/plugin-api';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import type { AppLeftOut, AppManifest } from '@device-core/plugin-api/services/apps';
import type { FunctionLeftOut } from '@device-core/plugin-api/services/functions';
import type { AppContext } from './app-context.ts';
import { shareSocket } from './app-sandbox.ts';
import type { GrantDecision } from './grant-decision.ts';
import type { GuestAddresses } from './guest-spec.ts';
import { inactiveParts } from './manifest-rules.ts';

/** Addresses and token for the process of an app. */
export interface Lent {
  readonly addresses: GuestAddresses;
  /** For this run alone. */
  readonly token: string;
}

/**
 * Loans of an app for the time it runs: grants, a token, a socket, an entry in the registry. Each step has its undo,
 * and both may be repeated.
 */
export class AppLease {
  readonly #manifest: AppManifest;
  readonly #context: AppContext;
  #functionsLeftOut: readonly AppLeftOut[] = [];
  #configRefused: AppLeftOut | undefined;
  /** Its way to named hosts, as its run has it, and why there is none. */
  #wayOut: AppSpec | undefined;
  #noWayOut: AppLeftOut | undefined;

  constructor(manifest: AppManifest, context: AppContext) {
    this.#manifest = manifest;
    this.#context = context;
  }

  /** The socket is there before it runs. */
  async take(decision: GrantDecision, uid: number | undefined): Promise<Lent> {
    const { grants, identity, appSockets } = this.#context;
    const { id, name } = this.#manifest;
    await grants.set({ kind: 'app', id }, decision.granted);
    const token = await identity.issue(id);
    const { path: rpc } = await appSockets.open({ id, name, ...maybe({ uid }) });
    await this.describeConfig();
    await this.registerFunctions();
    const { http, url } = await this.#addresses();
    const folder = await shareSocket(http, this.#context.device.paths.run);
    // Without a folder for it the socket itself is shared: after a restart of its owner the app sees the old one.
    const shared =
      folder === undefined
        ? { folder: http, socket: http }
        : { folder, socket: join(folder, basename(http)), usual: http };
    return { token, addresses: { rpc, shared, ...maybe({ url }) } };
  }

  /** A run is over, another may follow: the token is void, nothing else. */
  async voidToken(): Promise<void> {
    await this.#undo('token', () => this.#context.identity.revoke(this.#manifest.id));
  }

  /** Before its run begins, and again when the service has come anew: then for the same hosts. */
  async openWayOut(spec: AppSpec | undefined = this.#wayOut): Promise<void> {
    const { id, name } = this.#manifest;
    const again = spec !== undefined && spec === this.#wayOut;
    this.#wayOut = spec;
    this.#noWayOut = undefined;
    const { hosts = [], uid } = spec ?? {};
    if (hosts.length === 0) return this.#closeWayOut();
    try {
      if (!this.#context.optional.egress) throw new Error('plugin egress is not there');
      await this.#context.optional.egress.open({ id, name, hosts, ...maybe({ uid }) });
      // The supervisor opens the way where the Core has no right to: before each start, and now.
      if (again) await this.#context.appSupervisor.prepare(spec);
    } catch (thrown) {
      this.#noWayOut = { part: 'network.outbound', reason: reasonOf(thrown) };
      this.#context.log.warn({ app: id, reason: reasonOf(thrown) }, 'an app has no way to its hosts');
    }
  }

  /** The app is told to stop; its socket goes, and what it has open to hosts is cut before. */
  async closeSocket(reason: string): Promise<void> {
    this.#wayOut = undefined;
    await this.#closeWayOut();
    await this.#undo('socket', () => this.#context.appSockets.close(this.#manifest.id, reason));
  }

  async #closeWayOut(): Promise<void> {
    await this.#undo('way out', async () => this.#context.optional.egress?.close(this.#manifest.id));
  }

  /** Everything back. */
  async end(): Promise<void> {
    await this.voidToken();
    await this.#undo('grants', () => this.#context.grants.clear({ kind: 'app', id: this.#manifest.id }));
    this.#functionsLeftOut = [];
    await this.#undo('functions', async () => this.#context.optional.functions?.unregister(this.#manifest.id));
  }

  /** Parts of the manifest that are not in force, with the reason. */
  get leftOut(): readonly AppLeftOut[] {
    const refused = [this.#configRefused, this.#noWayOut].flatMap((one) => one ?? []);
    return [...refused, ...this.#functionsLeftOut, ...inactiveParts(this.#manifest)];
  }

  /** A function that is refused is the author's or the operator's to mend, no reason for the app, or for the others, not to run. */
  async registerFunctions(): Promise<void> {
    const { id, functions } = this.#manifest;
    if (!functions || functions.length === 0) return;
    try {
      const answer = await this.#context.optional.functions?.offer({ app: id, functions });
      this.#functionsLeftOut = (answer?.leftOut ?? []).map(partOf);
    } catch (thrown) {
      this.#context.log.warn({ app: id, reason: reasonOf(thrown) }, 'functions of the manifest are not registered');
    }
  }

  /** The registry has changed: one that lacked something may have come in. */
  async lookForFunctions(): Promise<void> {
    const { id } = this.#manifest;
    this.#functionsLeftOut = ((await this.#context.optional.functions?.leftOut({ app: id })) ?? []).map(partOf);
  }

  async describeConfig(): Promise<void> {
    const { id, config } = this.#manifest;
    if (!config) return;
    try {
      await this.#context.optional.config?.describeApp(id, config);
      this.#configRefused = undefined;
    } catch (thrown) {
      this.#configRefused = { part: 'config', reason: reasonOf(thrown) };
      this.#context.log.warn({ app: id, reason: reasonOf(thrown) }, 'configuration of the manifest is not in force');
    }
  }

  async #addresses(): Promise<{ readonly http: string; readonly url: string | undefined }> {
    const addresses = (await this.#context.optional.http?.addresses()) ?? [];
    const socket = addresses.find((address) => address.startsWith('unix:'))?.slice('unix:'.length);
    return {
      http: socket ?? join(this.#context.device.paths.run, 'core.sock'),
      url: addresses.find((address) => address.startsWith('http:')),
    };
  }

  /** Every part is taken back, whatever becomes of another. */
  async #undo(part: string, undo: () => Promise<unknown>): Promise<void> {
    try {
      await undo();
    } catch (thrown) {
      this.#context.log.warn(
        { app: this.#manifest.id, part, reason: reasonOf(thrown) },
        'cannot take back from an app',
      );
    }
  }
}

function partOf({ name, reason, capability, hint }: FunctionLeftOut): AppLeftOut {
  return { part: `function ${name}`, reason, ...(capability && { capability }), ...(hint && { hint }) };
}
