import { fileURLToPath } from 'node:url';
import { definePlugin, whileThere } from '@device-core/plugin-api';
import { pendingAct, type Remain, remainsFolder, remainsOf } from '@device-core/plugin-api/inside/pending-state';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { secretTransfer } from '@device-core/plugin-api/inside/services/secret-transfer';
import { apps } from '@device-core/plugin-api/services/apps';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { Backups } from './backups.ts';
import { BACKUP_LIMITS, type BackupLimits } from './head.ts';
import { backupOperations } from './operations.ts';

const TREE = fileURLToPath(new URL('../../..', import.meta.url));
const MOST_TOLD = 5;
const requires = { device, operations };

export const makeBackup = (limits: BackupLimits = BACKUP_LIMITS) =>
  definePlugin({
    requires,
    async setup(host, services) {
      const { scope, clock, log } = host;
      const info = await services.device.info();
      const secrets = whileThere(host, secretTransfer);
      const now = () => clock.now();
      const backups = new Backups(info, TREE, { now, apps: whileThere(host, apps), secrets, log, limits });
      const parts = { device: info, tree: TREE, backups, machine: whileThere(host, machine), secrets, log };
      for (const operation of backupOperations(parts)) scope.use(operation.name, services.operations.add(operation));
      host.tap('health.collect', (report) => {
        const act = pendingAct(info.paths.var);
        const remains = remainsOf(info.paths.var);
        if (act !== undefined)
          report.add('backup', { status: 'waiting', message: `the ${act} that was ordered is done at the next start` });
        else report.add('backup', { status: 'okay', ...(remains.length > 0 && { message: 'done with remains' }) });
        if (remains.length > 0)
          report.warn('STATE_REMAINS', `${told(remains)}; root removes it: rm -rf ${remainsFolder(info.paths.var)}`);
      });
    },
  });

export const plugin = makeBackup();

/** Apps choose the names of their files: nothing of them goes out as it is. */
function told(remains: readonly Remain[]): string {
  const more = remains.length > MOST_TOLD ? ` and ${remains.length - MOST_TOLD} more` : '';
  const some = remains.slice(0, MOST_TOLD).map(({ path, reason }) => `${JSON.stringify(path)} (${reason})`);
  return `${some.join(', ')}${more} could not be removed`;
}
