/** A process of its own that is called by others: an app of ours, or a service on D-Bus. `node rpc-callees.ts app|dbus <socket>` */
import { connectApp } from '@device-core/plugin-api/app';
import { peer } from '../harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: the peer's own types are not installed with the product
type Any = any;

export const DBUS_NAME = 'com.example.Bench';
export const DBUS_PATH = '/bench';

async function app(rpcSocket: string): Promise<void> {
  const app = await connectApp({ rpcSocket });
  const entry = { name: 'bench.answer', version: '1.0.0', inputs: { text: 'string' }, returns: { text: 'string' } };
  await app.provide(entry, ({ text }: { text: string }) => ({ text }));
}

async function dbus(path: string): Promise<void> {
  const { default: dbus } = await peer<Any>('dbus-next');
  const bus = dbus.sessionBus({ busAddress: `unix:path=${path}` });
  const Interface: new (name: string) => object = dbus.interface.Interface;
  class Bench extends Interface {
    Answer(text: string): string {
      return text;
    }
  }
  (Bench as Any).configureMembers({ methods: { Answer: { inSignature: 's', outSignature: 's' } } });
  bus.export(DBUS_PATH, new Bench(DBUS_NAME));
  await bus.requestName(DBUS_NAME);
}

if (import.meta.main) {
  const [kind, path = ''] = process.argv.slice(2);
  process.once('disconnect', () => process.exit());
  await (kind === 'dbus' ? dbus(path) : app(path));
  process.send?.('ready');
}
