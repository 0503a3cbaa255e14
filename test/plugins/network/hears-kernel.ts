/** Runs in a network of its own, where a link may be changed: the kernel tells of it. */
import { spawnSync } from 'node:child_process';
import { listenNetlink, type NativeCalls } from '@device-core/plugin-api/inside/netlink';
import { part } from '../../fixtures/scope.ts';

await using listener = part();
const heard = Promise.withResolvers<Uint8Array>();
await listenNetlink({
  scope: listener.scope,
  from: 'route',
  hear: heard.resolve,
  over: (reason) => heard.reject(new Error(reason)),
  native: async () => (await import('koffi')).default as unknown as NativeCalls,
});
spawnSync('ip', ['link', 'set', 'lo', 'up']);
console.log(`heard ${(await heard.promise).length} bytes`);
