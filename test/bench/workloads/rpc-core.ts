/** A process of its own: a Core with the plugins behind an app socket. Tells its parent where the sockets of apps a and b are. */
import { join } from 'node:path';
import { appSockets } from '@device-core/plugin-api';
import { startCore } from '../../fixtures/core.ts';

const plugins = {
  operations: { version: '^1.0.0', config: { validateResults: false } },
  identity: '^1.0.0',
  system: '^1.0.0',
  limits: { version: '^1.0.0', config: { generous: true } },
  rpc: '^1.0.0',
  functions: '^1.0.0',
  bench: { version: '^1.0.0', path: join(import.meta.dirname, 'bench-plugin'), isolation: 'inline' as const },
};
const core = await startCore({ plugins, logLevel: 'warn' });
const sockets = core.service(appSockets);
process.send!({ a: await sockets.path('com.example.a'), b: await sockets.path('com.example.b') });
process.once('disconnect', () => void core.stop().then(() => process.exit()));
