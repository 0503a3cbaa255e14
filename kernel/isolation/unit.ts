import { Socket } from 'node:net';
import { reasonOf } from '@device-core/plugin-api';
import { HeldMemory } from '@device-core/plugin-api/inside/held-memory';
import type { PluginUnitStart, PluginUnits } from '@device-core/plugin-api/inside/services/plugin-units';
import type { Processes } from '@device-core/plugin-api/inside/services/processes';
import { systemClock } from '../clock.ts';
import { HEAP_MB } from './entry-data.ts';
import { crashOnce, type Launched } from './launched.ts';
import { pipePort } from './ports.ts';

/** Time for the cause of an end to be known after its channel has closed. */
const CAUSE_MS = 5_000;

export interface UnitOptions {
  /** Hears of its process, in the turn in which it is made. */
  readonly processes?: Pick<Processes, 'add' | 'end'> | undefined;
  /** Makes units, where a plugin provides that now. */
  readonly units?: (() => PluginUnits | undefined) | undefined;
  /** Its start is not wanted any more. */
  readonly signal?: AbortSignal;
  readonly budget?: { readonly heapMB?: number };
}

/** Starts a plugin as a unit of the system; undefined where there is nothing that makes one of it. */
export async function launchUnit(
  { budget, processes, units, signal }: UnitOptions,
  start: PluginUnitStart,
): Promise<(() => Launched) | undefined> {
  const { id } = start.manifest;
  const stop = async (): Promise<void> => {
    channel?.destroy();
    await units?.()?.stop(id);
  };
  const stopSoon = () => void stop().catch(() => undefined); // the supervisor of units tells it
  let channel: Socket | undefined;
  signal?.addEventListener('abort', stopSoon, { once: true });
  const maker = units?.();
  const unit = await maker?.start(start);
  if (!maker || !unit) {
    signal?.removeEventListener('abort', stopSoon);
    return undefined;
  }
  const { pid, run } = unit;
  channel = new Socket({ fd: unit.channel, readable: true, writable: true });
  if (signal?.aborted) stopSoon();
  const { exited, ended } = crashOnce(id);
  void maker.ended(run).then(ended, (error) => ended(reasonOf(error)));
  channel.on('close', () => {
    const wait = systemClock.after(CAUSE_MS, () => ended('it closed its channel'));
    void exited.then(() => wait[Symbol.dispose]());
  });
  const held = new HeldMemory();
  return () => {
    signal?.removeEventListener('abort', stopSoon);
    let over = false;
    void processes?.add({ kind: 'plugin', id }, { pid });
    void exited.then(() => {
      over = true;
      void processes?.end({ kind: 'plugin', id });
    });
    return {
      port: pipePort(channel, (error) => {
        ended(`it broke the rules of the border: ${error.message}`, error);
        stopSoon();
      }),
      program: () => (over ? undefined : pid),
      heapMB: budget?.heapMB ?? HEAP_MB,
      output: [],
      exited,
      memory: async () => (over ? undefined : held.withResident(pid)),
      kill: stop,
    };
  };
}
