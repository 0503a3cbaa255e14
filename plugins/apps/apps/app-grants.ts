import { isDeepStrictEqual } from 'node:util';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { AppContext } from './app-context.ts';
import { decideGrants, type GrantDecision } from './grant-decision.ts';

/** Current grants of one app, and the lease it holds while it runs. */
export class AppGrants {
  readonly #manifest: AppManifest;
  readonly #folder: string;
  readonly #context: AppContext;
  #decision: GrantDecision;

  constructor(manifest: AppManifest, folder: string, context: AppContext) {
    this.#manifest = manifest;
    this.#folder = folder;
    this.#context = context;
    this.#decision = this.#decide();
  }

  get decision(): GrantDecision {
    return this.#decision;
  }

  /** Takes what is granted now. True: it is something else. */
  decideAgain(): boolean {
    const before = this.#decision;
    this.#decision = this.#decide();
    return !isDeepStrictEqual(before, this.#decision);
  }

  /** For a run that begins; somebody is asked for what nobody has decided, and the run does not wait for that. */
  async settle(): Promise<GrantDecision> {
    const { consents, stored } = this.#context;
    await consents.look(this.#manifest.id);
    this.#decision = this.#decide();
    // An app of the store was asked about when it was installed.
    if (!stored.has(this.#folder)) consents.ask(this.#manifest, this.#decision.undecided);
    return this.#decision;
  }

  /** It loses at once what is not granted any more, before its program has ended. */
  async narrow(): Promise<void> {
    await this.#context.grants.set({ kind: 'app', id: this.#manifest.id }, this.#decision.granted);
  }

  #decide(): GrantDecision {
    const { device, consents } = this.#context;
    return decideGrants(this.#manifest, { skuGrants: device.grants, ...consents.rulesFor(this.#manifest.id) });
  }
}
