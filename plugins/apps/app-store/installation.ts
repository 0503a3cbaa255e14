/** Installing and updating as a change. Before the list names a version nothing has happened; what fails after that is taken back whole. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { CoreError, callerName, maybe } from '@device-core/plugin-api';
import { answersAbout, givenBy } from '@device-core/plugin-api/inside/consent';
import type { ChangeData, ChangeMaker } from '@device-core/plugin-api/inside/services/changes';
import type { Consent } from '@device-core/plugin-api/inside/services/consents';
import type { ActSubject } from '@device-core/plugin-api/services/prompts';
import { without } from '../shared/package-store/list-file.ts';
import { removeTree } from './code.ts';
import { consentTo, seekingOf, type UnderWay } from './install-consent.ts';
import { type AppEntry, type Retained, retainedOf } from './installed.ts';
import type { Admitted, Candidate, InstallRequest, Outcome } from './outcome.ts';
import type { Parts } from './parts.ts';
import { probationFault, rolledBack, startFault } from './probation.ts';

const STEPS = [
  { name: 'stage', summary: 'unpacking' },
  { name: 'check', summary: 'checking' },
  { name: 'consent', summary: 'asking for consent' },
  { name: 'place', summary: 'putting its files in place' },
  { name: 'spec', summary: 'giving it a user, and copying its data' },
  { name: 'commit', summary: 'writing it into the list' },
  { name: 'start', summary: 'starting' },
  { name: 'probation', summary: 'on probation' },
] as const;

/** Facts for later steps; kept in the record of the change. */
interface Data extends ChangeData, InstallRequest {
  /** Name below the folder of what is staged. */
  readonly staged: string;
  readonly app: string;
  readonly by: string;
  readonly installedAt: number;
  readonly version: string;
  /** The entry before, and whether it ran. */
  readonly before?: AppEntry;
  readonly ran: boolean;
  readonly consents: readonly Consent[];
  /** Data that an app of this id had left. */
  readonly kept?: Retained;
  readonly same: boolean;
  readonly copied?: boolean;
  readonly outcome: Outcome;
}

type Caller = Parameters<typeof callerName>[0];

export class Installation implements ChangeMaker {
  readonly kind: 'apps.install' | 'apps.update';
  readonly capability = 'system.apps';
  readonly steps = STEPS;
  readonly commit = 'commit';
  readonly #parts: Parts;
  /** By the name of what is staged. */
  readonly #underWay: Map<string, UnderWay>;
  /** Why the version of a change was not kept. */
  readonly #reasons = new Map<string, string>();

  constructor(kind: 'apps.install' | 'apps.update', parts: Parts) {
    this.kind = kind;
    this.#parts = parts;
    this.#underWay = new Map();
  }

  /** Everything is asked, and nothing is left. Throws what is wrong with the package, or with its place among the others. */
  async check(request: InstallRequest): Promise<Outcome> {
    const { outcome, staged } = await this.#prepare(request);
    await this.#unstage(staged);
    return outcome;
  }

  /** The package and all its rights, for the person who confirms. Throws as check() does. */
  async about(request: InstallRequest): Promise<ActSubject> {
    const { staged } = await this.#prepare(request);
    try {
      const { candidate, admitted } = this.#known({ staged, source: request.source });
      const { manifest } = candidate;
      const { id, version, title, signedBy } = admitted.outcome;
      const given = answersAbout(manifest, request.grants ?? [], { allowed: true, by: 'operator', at: Date.now() });
      const seeking = await seekingOf(
        this.#parts,
        candidate,
        admitted,
        this.#parts.store.installed.apps[id] !== undefined,
      );
      const what = await givenBy(seeking, given, this.#parts.optional);
      return { id, title, version, signer: signedBy ?? null, what };
    } finally {
      await this.#unstage(staged);
    }
  }

  /** Beginning of a change: the package is unpacked and checked, and lies there until the change takes it. */
  async begin(request: InstallRequest, caller: Caller) {
    // Rights of an app are the owner's word, also where another app installs it.
    if (request.grants && request.grants.length > 0 && caller.kind !== 'operator') {
      const reason = `${callerName(caller)} is not the operator of the device`;
      throw new CoreError('CALLER_DENIED', { verb: 'grant capabilities', reason });
    }
    const { outcome, staged } = await this.#prepare(request);
    const { id, version, former } = outcome;
    const verb = former === undefined ? 'install' : 'update';
    const by = callerName(caller);
    return {
      kind: this.kind,
      subject: `app ${id}`,
      summary: `${verb} ${id} ${version}`,
      by,
      data: { ...request, staged, app: id, version, by },
      discard: () => this.#unstage(staged),
    };
  }

  readonly perform = async (step: string, record: ChangeData, change: string): Promise<ChangeData> => {
    const data = record as Data;
    const { store } = this.#parts;
    const { app } = data;
    store.underWay.add(app);
    switch (step) {
      case 'stage':
        this.#known(data);
        return { note: `${app} ${data.version}` };
      case 'check':
        return this.#checkAgain(data);
      case 'consent':
        await consentTo(this.#parts, this.#known(data), data);
        return {};
      case 'place': {
        const { candidate, admitted } = this.#known(data);
        const { entry } = admitted;
        store.code.spare(change, store.code.pathsOf(app, entry));
        const { folder, tree } = candidate;
        const { checkUnchanged } = await import('./staging.ts');
        await checkUnchanged(data.source, candidate, store.limits);
        await store.state.serial(() => store.code.keep(app, entry, folder, tree));
        return {};
      }
      case 'spec':
        return this.#prepareRun(data);
      case 'commit':
        await this.#commit(data);
        return {};
      case 'start':
        await this.#start(data, change);
        return {};
      default:
        await this.#prove(data, change);
        await this.#over(data, change);
        return { result: { ...data.outcome, state: 'installed' } };
    }
  };

  readonly undo = async (step: string, record: ChangeData, change: string): Promise<void> => {
    const data = record as Data;
    const { store, apps, optional } = this.#parts;
    const { app } = data;
    if (step === 'start' && data.installedAt === store.installed.apps[app]?.installedAt && !data.same)
      await apps.stop(app).catch(ignoreMissing);
    if (step === 'commit' && data.installedAt !== undefined) await this.#revoke(data, change);
    if (step === 'spec') await this.#runAgain(data);
    if (step === 'consent' && data.consents && optional.consents) await optional.consents.replace(app, data.consents);
    if (step === 'stage') await this.#over(data, change);
  };

  async #prepare(request: InstallRequest): Promise<{ readonly outcome: Outcome; readonly staged: string }> {
    const { store, apps, scope, uploads } = this.#parts;
    const { stage } = await import('./staging.ts');
    const staged = randomUUID();
    const folder = join(store.code.staging, staged);
    store.code.spare(staged, [store.code.staging, folder]);
    try {
      const source = request.source.startsWith(UPLOAD)
        ? uploads.fileOf(request.source.slice(UPLOAD.length))
        : request.source;
      const candidate = await stage({ source, folder, limits: store.limits, signal: scope.signal }, (one) =>
        apps.inspect(one),
      );
      const admitted = await this.#admit(candidate, request);
      this.#underWay.set(staged, { candidate, admitted });
      return { staged, outcome: admitted.outcome };
    } catch (thrown) {
      await this.#unstage(staged);
      throw thrown;
    }
  }

  async #admit(candidate: Candidate, request: InstallRequest): Promise<Admitted> {
    const { store, apps, config } = this.#parts;
    const { admit } = await import('./admission.ts');
    const { installed, place, data } = store;
    const others = new Map((await apps.list()).map(({ id, name, version }) => [id, { name, version }]));
    for (const [id, { name, version }] of Object.entries(installed.apps)) others.set(id, { name, version });
    return admit(candidate, request, { installed, config, place, data, others });
  }

  /** Once more, for others may have changed meanwhile: what it stands on is put down. */
  async #checkAgain(data: Data): Promise<ChangeData> {
    const { store, apps, optional } = this.#parts;
    const { candidate } = this.#known(data);
    const admitted = await this.#admit(candidate, data);
    this.#underWay.set(data.staged, { candidate, admitted });
    const { app } = data;
    const before = store.installed.apps[app];
    const kept = store.installed.retained[app];
    const status = await apps.status(app).catch(ignoreMissing);
    const { entry, outcome } = admitted;
    return {
      installedAt: entry.installedAt,
      outcome,
      same: before?.installedAt === entry.installedAt,
      ...maybe({ before, kept }),
      ran: status !== undefined && !['stopped', 'failed', 'quarantined'].includes(status.state),
      consents: (await optional.consents?.of(app)) ?? [],
    };
  }

  async #prepareRun(data: Data): Promise<ChangeData> {
    const { store, apps, scope } = this.#parts;
    const { app, before } = data;
    await store.uidOf(app);
    const { admitted } = this.#known(data);
    const from = before ?? data.kept;
    if (admitted.migration === 'none' || !from) return {};
    if (before) await apps.stop(app);
    await store.release(app);
    await store.data.copy(app, from.version, scope.signal);
    return { copied: true };
  }

  async #runAgain({ app, ran, before, copied }: Data): Promise<void> {
    const { apps, store } = this.#parts;
    if (before && copied && store.installed.apps[app]?.installedAt === before.installedAt)
      await store.data.forgetCopies(app, before.former?.version);
    if (ran) await apps.start(app).catch(ignoreMissing);
  }

  async #commit(data: Data): Promise<void> {
    const { store } = this.#parts;
    const { app, before, copied, consents, same } = data;
    if (same) return;
    const { entry } = this.#known(data).admitted;
    const named: AppEntry = {
      ...entry,
      installedAt: data.installedAt,
      ...(entry.former ? { former: { ...entry.former, consents, ...(copied ? { copiedAt: Date.now() } : {}) } } : {}),
    };
    const { retained, rolledBack: failures } = store.installed;
    const more = { retained: without(retained, app), rolledBack: without(failures, app) };
    if (await store.exchange(app, before, named, more)) return;
    throw new CoreError('CANCELLED', { what: `the installation of ${app}`, reason: 'it was changed meanwhile' });
  }

  async #start(data: Data, change: string): Promise<void> {
    const { store, apps, publish } = this.#parts;
    const { app, version, outcome, before } = data;
    if (store.installed.apps[app]?.restore !== undefined) {
      await apps.stop(app).catch(ignoreMissing);
      await store.settleData(app);
    }
    await apps.refresh();
    if (!data.same)
      publish('app.installed', {
        id: app,
        version,
        ...(before ? { former: before.version } : {}),
        ...maybe({ signer: outcome.signer }),
      });
    if (!(await this.#isToRun(data))) return;
    await this.#keep(data, change, await startFault(this.#parts, app, version));
    const entry = store.installed.apps[app];
    if (entry?.dataFrom === undefined) return;
    const { dataFrom: _, ...rest } = entry;
    await store.exchange(app, entry, rest);
  }

  async #prove(data: Data, change: string): Promise<void> {
    if (data.same || !(await this.#isToRun(data))) return;
    await this.#keep(data, change, await probationFault(this.#parts, data.app));
  }

  /** Throws APP_ROLLED_BACK where there is a reason not to keep it. */
  async #keep({ app, version, before }: Data, change: string, reason: string | undefined): Promise<void> {
    if (reason === undefined) return;
    this.#reasons.set(change, reason);
    const name = this.#parts.store.installed.apps[app]?.name ?? app;
    throw await rolledBack(this.#parts, { app, name, version, reason, former: before?.version });
  }

  /** An app without a start cannot prove itself. */
  async #isToRun({ app, ran }: Data): Promise<boolean> {
    const { store, apps } = this.#parts;
    if (store.installed.disabled.includes(app)) return false;
    const { lifecycle } = await apps.manifest(app);
    return ran || (lifecycle?.autostart ?? true) === true;
  }

  /** The list names what it named before, its data and the owner's answers are those of before, and it runs as before. */
  async #revoke(data: Data, change: string): Promise<void> {
    const { store, apps, config, optional, publish } = this.#parts;
    const { app, version, before, consents, installedAt, same, copied, ran } = data;
    const entry = store.installed.apps[app];
    if (same || entry?.installedAt !== installedAt) return;
    const reason = this.#reasons.get(change) ?? 'its change was taken back';
    const { rolledBack: failures, retained } = store.installed;
    const failed = { ...failures, [app]: { version, reason, at: Date.now() } };
    const back = before && { ...before, ...(copied ? { restore: before.version } : {}) };
    const left = before
      ? retained
      : { ...retained, [app]: data.kept ?? retainedOf(entry, Date.now(), config.retainDays) };
    await store.exchange(app, entry, back, { rolledBack: failed, retained: left });
    if (!before && copied && data.kept) {
      await store.releaseQuietly(app);
      await store.data.restore(app, data.kept.version);
    }
    await store.settleData(app);
    await optional.consents?.replace(app, consents ?? []);
    await apps.refresh();
    if (ran) await apps.start(app).catch(ignoreMissing);
    publish('app.rolledback', { id: app, version, reason });
  }

  async #over({ app, staged }: Data, change: string): Promise<void> {
    const { store } = this.#parts;
    store.underWay.delete(app);
    store.code.spare(change, []);
    this.#reasons.delete(change);
    await this.#unstage(staged);
    await store.tidy();
  }

  #known({ staged, source }: Pick<Data, 'staged' | 'source'>): UnderWay {
    const known = this.#underWay.get(staged);
    if (known) return known;
    // Staged files are swept when the Core starts; a change that had not come further is undone then.
    throw new CoreError('CANCELLED', { what: `the installation of ${source}`, reason: 'it was cut off' });
  }

  async #unstage(staged: string): Promise<void> {
    const { code } = this.#parts.store;
    this.#underWay.delete(staged);
    await removeTree(join(code.staging, staged));
    code.spare(staged, []);
  }
}

const UPLOAD = 'upload:';

/** An app that is not there any more has nothing to be stopped or started. */
export function ignoreMissing(thrown: unknown): undefined {
  if (thrown instanceof CoreError && ['APP_NOT_FOUND', 'APP_CONFLICT'].includes(thrown.code)) return undefined;
  throw thrown;
}
