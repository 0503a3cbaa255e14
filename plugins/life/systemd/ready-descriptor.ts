import { fstatSync, writeSync } from 'node:fs';
import type { Notify } from './notify.ts';

/** Lines for whoever made the descriptor: the boot loader, where there is no systemd. It reads READY=1. */
export function descriptorOf(text: string): Notify {
  const descriptor = Number(text);
  if (!Number.isSafeInteger(descriptor) || descriptor < 3) throw new Error(`READY_FD is no descriptor: ${text}`);
  if (!fstatSync(descriptor).isFIFO() && !fstatSync(descriptor).isSocket())
    throw new Error(`READY_FD is no pipe: ${text}`);
  return {
    tell(message) {
      try {
        writeSync(descriptor, `${message}\n`);
        return undefined;
      } catch (error) {
        return (error as Error).message;
      }
    },
    [Symbol.dispose]() {
      // It is not this plugin's to close: it is told again when the plugin is started again.
    },
  };
}
