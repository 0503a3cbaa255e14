import type { PluginHost } from '@device-core/plugin-api';
import { replaceFile } from '@device-core/plugin-api/durable';
import type { CoreRestart } from '@device-core/plugin-api/inside/core-restart';
import type { Operations } from '@device-core/plugin-api/services/operations';

export interface Waiting {
  /** Tells the boot loader that somebody was there. */
  readonly file: string;
  readonly seconds: number;
  readonly restart: CoreRestart;
}

/**
 * A safe mode that nobody uses ends by itself, so that an unattended device comes back. It is used when an operator
 * asks for something that changes the device; then it stays until somebody ends it.
 */
export function untilUsed(host: PluginHost, operations: Operations, { file, seconds, restart }: Waiting): void {
  const { scope, log } = host;
  let looks: ReadonlySet<string> = new Set();
  let used = false;
  scope.use(
    'operations',
    operations.watch((all) => {
      looks = new Set(all.filter(({ rest }) => rest === undefined || rest.method === 'GET').map(({ name }) => name));
    }),
  );
  scope.timeout('unused safe mode', seconds * 1000, () => {
    if (used) return;
    log.info({ seconds }, 'safe mode was not used: the normal start is tried again');
    restart.begin();
  });
  host.tap('operation.before', async (operation, { caller }) => {
    if (used || caller.kind !== 'operator' || looks.has(operation)) return;
    used = true;
    try {
      await replaceFile(file, '');
    } catch (err) {
      log.warn({ err }, 'the boot loader cannot be told that safe mode was used');
    }
  });
}
