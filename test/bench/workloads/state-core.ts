/** A process of its own: a Core whose settings and subscriptions are measured. Tells its parent where the socket of an app is, and the device's files. */
import { appSockets } from '@device-core/plugin-api';
import { startCore } from '../../fixtures/core.ts';

const plugins = {
  operations: { version: '^1.0.0', config: { validateResults: false } },
  identity: '^1.0.0',
  system: '^1.0.0',
  limits: { version: '^1.0.0', config: { generous: true } },
  rpc: '^1.0.0',
  config: '^1.0.0',
  events: { version: '^1.0.0', config: JSON.parse(process.argv[2] ?? '{}') },
};
const core = await startCore({ plugins, logLevel: 'warn' });
const { path } = await core.service(appSockets).open({ id: 'com.example.a', name: 'a' });
process.send!({ path, var: core.paths.var });
process.once('disconnect', () => void core.stop().then(() => process.exit()));
