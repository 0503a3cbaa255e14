/** Going back to the version before, as a change: with its code, its data where they were copied, and the owner's answers. */

import { CoreError } from '@device-core/plugin-api';
import type { ChangeData, ChangeMaker } from '@device-core/plugin-api/inside/services/changes';
import { ignoreMissing } from './installation.ts';
import { type AppEntry, versionOf } from './installed.ts';
import type { Parts } from './parts.ts';

export interface RollbackData extends ChangeData {
  readonly app: string;
  readonly from: AppEntry;
  readonly to: AppEntry;
}

/** Line that a rollback would write. Throws APP_NOT_FOUND, APP_CONFLICT. */
export function beforeOf(app: string, from: AppEntry | undefined): RollbackData {
  if (!from) throw new CoreError('APP_NOT_FOUND', { app });
  const { former } = from;
  const refuse = (reason: string) => new CoreError('APP_CONFLICT', { verb: 'roll back', app, reason });
  if (!former) throw refuse('no other version was kept');
  if (former.copiedAt === undefined && former.dataVersion !== from.dataVersion)
    throw refuse(`its data have form ${from.dataVersion}, and no copy for ${former.version} is left`);
  const restore = former.copiedAt === undefined ? {} : { restore: former.version };
  return { app, from, to: { ...versionOf(former), installedAt: Date.now(), ...restore } };
}

export const rollbackMaker = ({ store, apps, optional, publish }: Parts): ChangeMaker => ({
  kind: 'apps.rollback',
  capability: 'system.apps',
  steps: [
    { name: 'stop', summary: 'stopping' },
    { name: 'commit', summary: 'writing it into the list' },
    { name: 'start', summary: 'starting' },
  ],
  commit: 'commit',

  async perform(step, data) {
    const { app, from, to } = data as RollbackData;
    if (step === 'stop') {
      store.underWay.add(app);
      await apps.stop(app).catch(ignoreMissing);
      return {};
    }
    if (step === 'commit') {
      const now = store.installed.apps[app]?.installedAt;
      if (now !== to.installedAt && !(await store.exchange(app, from, to)))
        throw new CoreError('CANCELLED', { what: `the rollback of ${app}`, reason: 'it was changed meanwhile' });
      return {};
    }
    await store.settleData(app);
    await optional.consents?.replace(app, from.former?.consents ?? []);
    await apps.refresh();
    const off = store.installed.disabled.includes(app);
    const status = off ? await apps.status(app) : await apps.start(app);
    publish('app.rolledback', { id: app, version: from.version, reason: 'somebody asked for it' });
    store.underWay.delete(app);
    await store.tidy();
    return { result: { id: app, version: to.version, former: from.version, state: status.state } };
  },

  async undo(step, data) {
    const { app, from, to } = data as RollbackData;
    if (step === 'commit') await store.exchange(app, to, from);
    if (step !== 'stop') return;
    store.underWay.delete(app);
    await apps.refresh();
    if (!store.installed.disabled.includes(app)) await apps.start(app).catch(ignoreMissing);
  },
});
