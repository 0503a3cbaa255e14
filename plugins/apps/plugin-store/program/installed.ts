import { defineProgram } from '@device-core/plugin-api/program';
import { installedPlugins, storeRemarks } from './listing.ts';

/** `devicectl plugin installed` */
export const program = defineProgram({
  async run({ client, out }) {
    if (out.json) return out.line((await client.get('/plugins/installed')).text);
    const listing = await installedPlugins(client);
    const remarks = storeRemarks(listing);
    const ids = new Set([...listing.plugins, ...listing.rolledBack].map(({ id }) => id));
    const rows = [...ids].map((id) => {
      const one = listing.plugins.find((other) => other.id === id);
      return [id, one?.version ?? '', one?.lastGood?.version ?? '', one?.isolation ?? '', remarks.get(id) ?? ''];
    });
    await out.table(['PLUGIN', 'VERSION', 'BEFORE', 'RUNS', 'REMARK'], rows, {
      empty: 'nothing was installed; add a plugin with: devicectl plugin install <folder|tgz>',
    });
  },
});
