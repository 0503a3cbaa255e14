/** A process of its own: a Core of which so many plugins restart, apps call and sessions come and go as its parent says. It answers what is in use. */
import { join } from 'node:path';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { startCore } from '../../fixtures/core.ts';
import { heapUsed } from '../../fixtures/heap.ts';
import { appClient } from './app-client.ts';

const LEVELS = ['inline', 'worker', 'process'] as const;
type Kind = (typeof LEVELS)[number] | 'calls' | 'sessions';

const path = join(import.meta.dirname, 'bench-plugin');
const core = await startCore({
  plugins: {
    operations: '^1.0.0',
    identity: '^1.0.0',
    system: '^1.0.0',
    limits: { version: '^1.0.0', config: { generous: true } },
    rpc: '^1.0.0',
    config: '^1.0.0',
    events: '^1.0.0',
    functions: '^1.0.0',
    bench: { version: '^1.0.0', path, isolation: (process.argv[2] ?? 'inline') as 'inline' },
  },
  logLevel: 'warn',
});
const sockets = core.service(appSockets);
const { path: socket } = await sockets.open({ id: 'com.example.a', name: 'a' });
await core.service(grants).set({ kind: 'app', id: 'com.example.a' }, []);
const app = await appClient(socket);

const CALLS: readonly (readonly [string, object])[] = [
  ['system.ping', {}],
  ['config.set', { key: 'bench.value', value: 1 }],
  ['config.list', {}],
  ['functions.list', {}],
  ['events.subscribe', { filter: 'ui.*' }],
  ['events.unsubscribe', { filter: 'ui.*' }],
];

const once: Readonly<Record<Kind, (index: number) => Promise<unknown>>> = {
  inline: () => core.kernel.restart('bench'),
  worker: () => core.kernel.restart('bench'),
  process: () => core.kernel.restart('bench'),
  calls: (index) => app.call(...CALLS[index % CALLS.length]!),
  async sessions() {
    await using guest = await appClient(socket);
    await guest.call('events.subscribe', { filter: 'audio.*' });
  },
};

process.on('message', async ({ kind, count }: { readonly kind: Kind; readonly count: number }) => {
  for (let index = 0; index < count; index++) await once[kind](index);
  process.send!({ bytes: await heapUsed() });
});
process.send!({});
process.once('disconnect', () => void core.stop().then(() => process.exit()));
