/**
 * Installing as a change: what is unpacked is checked, put in its place, named in the list, and started. Before the
 * list names it nothing has happened.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, maybe } from '@device-core/plugin-api';
import type { ChangeData, ChangeMaker } from '@device-core/plugin-api/inside/services/changes';
import type { ActSubject } from '@device-core/plugin-api/services/prompts';
import type { Candidate } from './candidate.ts';
import { rightsOf } from './claims.ts';
import type { Admitted, InstallRequest } from './outcome.ts';
import type { PluginStore } from './store.ts';

const STEPS = [
  { name: 'stage', summary: 'unpacking' },
  { name: 'check', summary: 'checking' },
  { name: 'place', summary: 'putting its files in place' },
  { name: 'commit', summary: 'writing it into the list' },
  { name: 'start', summary: 'starting' },
] as const;

/** State of one that is under way in this run of the Core. */
interface UnderWay {
  readonly candidate: Candidate;
  readonly admitted: Admitted;
}

export class Installation implements ChangeMaker {
  readonly kind = 'plugins.install';
  readonly capability = 'system.plugins';
  readonly steps = STEPS;
  readonly commit = 'commit';
  readonly #store: PluginStore;
  /** `<var>/plugins/.staging`. */
  readonly #staging: string;
  readonly #underWay = new Map<string, UnderWay>();
  #checks = 0;

  constructor(store: PluginStore, place: string) {
    this.#store = store;
    this.#staging = join(place, '.staging');
  }

  /** Everything is asked, and nothing is left. Throws what is wrong with the package, or with its place among the others. */
  async check(request: InstallRequest): Promise<Admitted['outcome']> {
    return (await this.#look(request)).outcome;
  }

  /** The plugin and all its claims, for the person who confirms. Throws as check() does. */
  async about(request: InstallRequest): Promise<ActSubject> {
    const { outcome, news } = await this.#look(request);
    const { id, version, signer = null } = outcome;
    return { id, version, signer, ...rightsOf(news) };
  }

  async #look(request: InstallRequest): Promise<Admitted> {
    this.#checks += 1;
    const name = `check-${this.#checks}`;
    try {
      await this.#stage(name, request);
      return (await this.#admit(name, request)).admitted;
    } finally {
      await this.#unstage(name);
    }
  }

  readonly perform = async (step: string, data: ChangeData, change: string): Promise<ChangeData> => {
    const request = data as unknown as InstallRequest;
    switch (step) {
      case 'stage':
        await this.#stage(change, request);
        return {};
      case 'check': {
        const { admitted } = await this.#admit(change, request);
        const { id, version } = admitted.outcome;
        return { id, installedAt: admitted.entry.installedAt, note: `${id} ${version}` };
      }
      case 'place': {
        const { candidate, admitted } = await this.#known(change, request);
        const placed = await this.#store.place(change, candidate, admitted.entry);
        this.#underWay.set(change, { candidate: placed, admitted });
        return {};
      }
      case 'commit': {
        const { candidate } = await this.#known(change, request);
        const admitted = await this.#store.commit(candidate, request, Number(data.installedAt));
        this.#underWay.set(change, { candidate, admitted });
        return { outcome: admitted.outcome, committedAt: admitted.entry.installedAt };
      }
      default: {
        const resumed = !this.#underWay.has(change);
        const running = await this.#store.start(String(data.id), Number(data.committedAt), resumed);
        await this.#unstage(change);
        return { result: { ...(data.outcome as object), ...maybe({ running }) } };
      }
    }
  };

  readonly undo = async (step: string, data: ChangeData, change: string): Promise<void> => {
    if (step === 'commit') await this.#store.revoke(String(data.id), Number(data.installedAt));
    if (step === 'stage') await this.#unstage(change);
  };

  async #stage(name: string, { source }: InstallRequest): Promise<void> {
    const { stage } = await import('./staging.ts');
    const folder = join(this.#staging, name);
    this.#store.spare(name, [this.#staging, folder]);
    const { limits, signal } = this.#store;
    await stage({ source, folder, limits, signal });
  }

  async #admit(name: string, request: InstallRequest): Promise<UnderWay> {
    const { readCandidate } = await import('./candidate.ts');
    const candidate = await readCandidate(join(this.#staging, name), request.source, this.#store.limits);
    const found = { candidate, admitted: await this.#store.admit(candidate, request) };
    this.#underWay.set(name, found);
    return found;
  }

  async #known(change: string, request: InstallRequest): Promise<UnderWay> {
    const known = this.#underWay.get(change);
    if (known) return known;
    // Staged files are swept when the Core starts; a change that had not come further is undone then.
    throw new CoreError('CANCELLED', { what: `the installation of ${request.source}`, reason: 'it was cut off' });
  }

  async #unstage(name: string): Promise<void> {
    this.#underWay.delete(name);
    await rm(join(this.#staging, name), { recursive: true, force: true });
    this.#store.spare(name, []);
    await this.#store.tidy();
  }
}
