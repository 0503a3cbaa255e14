/**
 * A card of the kernel, `/dev/dri/card0`, by koffi. Every call that may wait (a mode that is set, a display that is
 * asked, an event that is due) runs in a thread of libuv's pool, never in the caller's.
 */
import { open } from 'node:fs/promises';
import type { DrmCard, DumbBuffer } from './card.ts';
import * as struct from './structs.ts';

const { IOCTL } = struct;

const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
const MAP_FAILED = 0xffff_ffff_ffff_ffffn;
const POLLIN = 1;
const EVENTS_BYTES = 1_024;
/** Maximum reads of arrays whose length the kernel may change in between. */
const MOST_LOOKS = 4;

/** koffi is a native package that may be absent: imported only here. */
async function natives() {
  const { default: koffi } = await import('koffi');
  const library = koffi.load(null);
  const errnoName = (number: number) =>
    Object.entries(koffi.os.errno).find(([, value]) => value === number)?.[0] ?? String(number);
  const later = (prototype: string) => {
    const native = library.func(prototype);
    return (...args: readonly unknown[]): Promise<number> =>
      new Promise((resolve, reject) => {
        native.async(...args, (error: unknown, result: number) => {
          if (error) reject(error);
          else if (Number(result) < 0) reject(new Error(errnoName(koffi.errno())));
          else resolve(Number(result));
        });
      });
  };
  return {
    ioctl: later('int ioctl(int fd, ulong request, void *argument)'),
    poll: later('int poll(void *fds, ulong count, int ms)'),
    read: later('int64_t read(int fd, void *bytes, size_t count)'),
    mmap: library.func('void *mmap(void *address, size_t length, int protection, int flags, int fd, int64_t offset)'),
    munmap: library.func('int munmap(void *address, size_t length)'),
    errno: () => errnoName(koffi.errno()),
    address: (buffer: Buffer): bigint => koffi.address(buffer),
    view: (address: bigint, length: number) => new Uint8Array(koffi.view(address, length)),
  };
}

export async function openCard(path: string): Promise<DrmCard> {
  const native = await natives();
  const file = await open(path, 'r+');
  const { fd } = file;
  /** Calls still in the kernel: closing the card under one would hand its number to another file. */
  const outstanding = new Set<Promise<unknown>>();
  const until = async <T>(work: Promise<T>): Promise<T> => {
    outstanding.add(work);
    try {
      return await work;
    } finally {
      outstanding.delete(work);
    }
  };
  /** The arrays that a struct points to stay alive as long as the call: it is what `_kept` is for. */
  const call = async (request: number, argument: Buffer | null, ..._kept: readonly Buffer[]): Promise<Buffer> => {
    await until(native.ioctl(fd, request, argument));
    return argument ?? Buffer.alloc(0);
  };
  const array = (count: number, bytes = 4) => Buffer.alloc(Math.max(1, count) * bytes);

  const connector = async (id: number, probe: boolean) => {
    let most = { modes: 1, encoders: 1 };
    if (probe) most = struct.connectorCounts(await call(IOCTL.getConnector, struct.connectorStruct(id)));
    for (let look = 0; ; look++) {
      const modes = Buffer.alloc(struct.modesBytes(Math.max(1, most.modes)));
      const encoders = array(most.encoders);
      const wanted = struct.connectorStruct(id, {
        modes: { address: native.address(modes), count: Math.max(1, most.modes) },
        encoders: { address: native.address(encoders), count: most.encoders },
      });
      const answer = await call(IOCTL.getConnector, wanted, modes, encoders);
      const counts = struct.connectorCounts(answer);
      // An array that is too short is not filled at all.
      if (
        (counts.modes <= Math.max(1, most.modes) && counts.encoders <= most.encoders) ||
        look === MOST_LOOKS ||
        !probe
      )
        return struct.connectorOf(answer, encoders, modes, most);
      most = counts;
    }
  };

  const buffer = async (width: number, height: number, bits: 16 | 32): Promise<DumbBuffer> => {
    const { handle, pitch, size } = struct.createdOf(
      await call(IOCTL.createDumb, struct.createStruct(width, height, bits)),
    );
    const destroy = () => call(IOCTL.destroyDumb, struct.numberStruct(handle));
    try {
      const added = await call(IOCTL.addBuffer, struct.addStruct(width, height, pitch, bits, handle));
      const framebuffer = struct.addedOf(added);
      const offset = struct.offsetOf(await call(IOCTL.mapDumb, struct.mapStruct(handle)));
      const address: bigint = native.mmap(null, size, PROT_READ_WRITE, MAP_SHARED, fd, offset);
      if (address === MAP_FAILED) throw new Error(`the buffer cannot be mapped (${native.errno()})`);
      return {
        framebuffer,
        pitch,
        memory: native.view(address, size),
        async release() {
          native.munmap(address, size);
          await call(IOCTL.removeBuffer, struct.numberStruct(framebuffer));
          await destroy();
        },
      };
    } catch (error) {
      await destroy();
      throw error;
    }
  };

  return {
    async setMaster() {
      await call(IOCTL.setMaster, null);
    },
    async dropMaster() {
      await call(IOCTL.dropMaster, null);
    },
    async resources() {
      const counts = struct.resourceCounts(await call(IOCTL.resources, struct.resourcesStruct()));
      const [, crtcs = 0, connectors = 0] = counts;
      const arrays = counts.map((count) => array(count));
      const wanted = struct.resourcesStruct(arrays.map(native.address), counts);
      await call(IOCTL.resources, wanted, ...arrays);
      return { crtcs: struct.words(arrays[1]!, crtcs), connectors: struct.words(arrays[2]!, connectors) };
    },
    connector,
    encoder: async (id) => struct.encoderOf(await call(IOCTL.getEncoder, struct.encoderStruct(id))),
    crtc: async (id) => struct.crtcStateOf(await call(IOCTL.getCrtc, struct.crtcStruct(id))),
    async restore(state, id) {
      const connectors = struct.numberStruct(id);
      await call(IOCTL.setCrtc, struct.restoreStruct(state, native.address(connectors)), connectors);
    },
    async show(crtc, picture) {
      const connectors = struct.numberStruct(picture?.connector ?? 0);
      const wanted = picture
        ? struct.showStruct(crtc, native.address(connectors), picture.framebuffer, picture.mode)
        : struct.crtcStruct(crtc);
      await call(IOCTL.setCrtc, wanted, connectors);
    },
    buffer,
    async flip(crtc, framebuffer, token) {
      await call(IOCTL.flip, struct.flipStruct(crtc, framebuffer, token));
    },
    flips: (ms) =>
      until(
        (async () => {
          // struct pollfd
          const asked = Buffer.alloc(8);
          asked.writeInt32LE(fd, 0);
          asked.writeInt16LE(POLLIN, 4);
          if ((await native.poll(asked, 1, ms)) === 0) return [];
          const events = Buffer.alloc(EVENTS_BYTES);
          return struct.flipsOf(events.subarray(0, await native.read(fd, events, events.length)));
        })(),
      ),
    async dirty(framebuffer, rects) {
      const corners = struct.clips(rects);
      await call(IOCTL.dirty, struct.dirtyStruct(framebuffer, native.address(corners), rects.length), corners);
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(outstanding);
      await file.close();
    },
  };
}
