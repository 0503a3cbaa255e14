/** A process of its own: a Core whose settings and subscriptions are measured. Tells its parent where the socket of an app is, and the device's files. */
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { startAppCore } from './app-core.ts';

const core = await startAppCore({
  config: '^1.0.0',
  events: { version: '^1.0.0', config: JSON.parse(process.argv[2] ?? '{}') },
});
const { path } = await core.service(appSockets).open({ id: 'com.example.a', name: 'a' });
process.send!({ path, var: core.paths.var });
