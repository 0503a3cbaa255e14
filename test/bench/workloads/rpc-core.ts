/** A process of its own: a Core with the plugins behind an app socket. Tells its parent where the sockets of apps a and b are. */
import { join } from 'node:path';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { startAppCore } from './app-core.ts';

const core = await startAppCore({
  functions: '^1.0.0',
  bench: { version: '^1.0.0', path: join(import.meta.dirname, 'bench-plugin'), isolation: 'inline' },
});
const sockets = core.service(appSockets);
process.send!({ a: await sockets.path('com.example.a'), b: await sockets.path('com.example.b') });
