/** A Core with what is behind an app socket, for a process of its own: it ends with its parent. */
import { type Core, startCore } from '../../fixtures/core.ts';

type Plugins = NonNullable<Parameters<typeof startCore>[0]>['plugins'];

const BEHIND_A_SOCKET = {
  operations: { version: '^1.0.0', config: { validateResults: false } },
  identity: '^1.0.0',
  system: '^1.0.0',
  limits: { version: '^1.0.0', config: { generous: true } },
  rpc: '^1.0.0',
};

export async function startAppCore(measured: Plugins): Promise<Core> {
  const core = await startCore({ plugins: { ...BEHIND_A_SOCKET, ...measured }, logLevel: 'warn' });
  process.once('disconnect', () => void core.stop().then(() => process.exit()));
  return core;
}
