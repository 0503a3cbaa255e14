/** Removing an app as a change. Its data stay for a while unless they are purged. */

import { CoreError, maybe } from '@device-core/plugin-api';
import type { ChangeData, ChangeMaker } from '@device-core/plugin-api/inside/services/changes';
import { without } from '../shared/package-store/list-file.ts';
import { ignoreMissing } from './installation.ts';
import { type AppEntry, type Installed, retainedOf } from './installed.ts';
import type { Parts } from './parts.ts';

export interface RemovalData extends ChangeData {
  readonly app: string;
  readonly entry?: AppEntry;
  readonly purge: boolean;
}

/** An installed app, or with `purge` the data of one that was removed. Throws APP_NOT_FOUND. */
export function removalOf(app: string, purge: boolean, { apps, retained }: Installed): RemovalData {
  const entry = apps[app];
  if (!entry && !(purge && retained[app])) throw new CoreError('APP_NOT_FOUND', { app });
  return { app, purge, ...maybe({ entry }) };
}

export const removalMaker = ({ store, apps, config, optional, publish }: Parts): ChangeMaker => ({
  kind: 'apps.remove',
  capability: 'system.apps',
  steps: [
    { name: 'stop', summary: 'stopping' },
    { name: 'commit', summary: 'writing it into the list' },
    { name: 'clean', summary: 'removing its files' },
  ],
  commit: 'commit',

  async perform(step, data) {
    const { app, entry, purge } = data as RemovalData;
    const { disabled, retained, rolledBack, uids } = store.installed;
    if (step === 'stop') {
      if (entry) await apps.stop(app).catch(ignoreMissing);
      return {};
    }
    if (step === 'commit') {
      if (!entry || store.installed.apps[app] === undefined) return {};
      const kept = purge ? undefined : retainedOf(entry, Date.now(), config.retainDays);
      const more = {
        disabled: disabled.filter((one) => one !== app),
        rolledBack: without(rolledBack, app),
        retained: without(retained, app, kept),
      };
      if (await store.exchange(app, entry, undefined, more)) return {};
      throw new CoreError('CANCELLED', { what: `the removal of ${app}`, reason: 'it was changed meanwhile' });
    }
    await apps.refresh();
    let remains: string | undefined;
    if (!purge) await store.releaseQuietly(app);
    else {
      remains = await store.purge(app);
      await store.change((now) => ({ retained: without(now.retained, app), uids: without(uids, app) }));
    }
    await optional.consents?.forget(app);
    const name = entry?.name;
    if (name !== undefined) await optional.supervisor?.forget(name).catch(ignoreMissing);
    await store.tidy();
    const removed = { id: app, ...(entry ? { version: entry.version } : {}), purged: purge && remains === undefined };
    publish('app.removed', removed);
    const until = store.installed.retained[app]?.until;
    return { result: { ...removed, ...(until ? { until } : {}), ...maybe({ remains }) } };
  },

  async undo(step, data) {
    const { app, entry } = data as RemovalData;
    if (step === 'commit' && entry && store.installed.apps[app] === undefined)
      await store.change(({ apps: all, retained }) => ({
        apps: without(all, app, entry),
        retained: without(retained, app),
      }));
    if (step !== 'stop' || !entry) return;
    await apps.refresh();
    if (!store.installed.disabled.includes(app)) await apps.start(app).catch(ignoreMissing);
  },
});
