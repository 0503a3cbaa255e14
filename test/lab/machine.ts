/**
 * A virtual machine with a panel and fingers: QEMU without KVM, the kernel of a Debian package, and an initial RAM file system of Node, koffi and this
 * checkout. Nothing is installed and nothing stays. JavaScript runs about eleven times slower in it: it is for what is right, not for what is fast.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from '../fixtures/eventually.ts';
import { checkoutInitrd, diskInitrd, PROGRAMS, SWITCH_ROOT } from './initrd.ts';

const QEMU = 'qemu-system-x86_64';
/** `DEVICE_LAB_ACCEL=kvm` where the processor runs guests by itself: the lab is quick then. */
const ACCEL = process.env.DEVICE_LAB_ACCEL ?? 'tcg,thread=multi,tb-size=512';
/** A machine that did not come up, or did not answer, by then never will. */
const BOOT_MS = 280_000;
const CALL_MS = 120_000;

interface KernelFiles {
  readonly image: string;
  readonly modules: string;
}

/** `DEVICE_LAB_KERNEL` is a folder into which a Debian package `linux-image-...-amd64` was unpacked (`dpkg-deb -x`); / if absent. */
function kernel(): KernelFiles | undefined {
  const root = process.env.DEVICE_LAB_KERNEL ?? '/';
  const names = existsSync(join(root, 'boot')) ? readdirSync(join(root, 'boot')) : [];
  for (const name of names
    .filter((one) => one.startsWith('vmlinuz-'))
    .sort()
    .reverse()) {
    const modules = [join(root, 'lib/modules', name.slice(8)), join(root, 'usr/lib/modules', name.slice(8))];
    const found = modules.find((one) => existsSync(join(one, 'kernel/drivers/gpu/drm/tiny')));
    if (found !== undefined) return { image: join(root, 'boot', name), modules: found };
  }
  return undefined;
}

/** Why no machine can be had here, or false. */
export const noMachine: string | false = (() => {
  if (process.arch !== 'x64') return `the lab's machine is x64, this is ${process.arch}`;
  const there = (program: string) => (process.env.PATH ?? '').split(':').some((one) => existsSync(join(one, program)));
  if (!there(QEMU)) return 'qemu is not installed (Debian: qemu-system-x86)';
  if (!kernel())
    return "there is no kernel: unpack Debian's linux-image-amd64 and name the folder in DEVICE_LAB_KERNEL";
  const absent = [...PROGRAMS, SWITCH_ROOT].find((program) => !existsSync(program));
  return absent === undefined ? false : `${absent} is missing`;
})();

export interface MachineOptions {
  /** Modules of the kernel, in the order in which they are loaded, parameters and all; what they need comes by itself. */
  readonly modules: readonly string[];
  /** Devices of QEMU. */
  readonly devices: readonly string[];
  /** Of the kernel's command line. */
  readonly append?: string;
  /** An image of ext4 with a system that speaks on the wire in place of guest/main.ts. What the machine writes is lost with it. */
  readonly disk?: string;
  readonly memoryMB?: number;
}

export interface Screenshot {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue of each pixel. */
  readonly rgb: Uint8Array;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

export class Machine implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'lab-'));
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #qemu: ChildProcess | undefined;
  #wire: Socket | undefined;
  #monitor: Socket | undefined;
  #monitorAnswer: ((said: Record<string, unknown>) => void) | undefined;
  #calls = 0;
  #ready = false;

  /** Resolves when the program of the guest answers. */
  static async boot(options: MachineOptions): Promise<Machine> {
    const machine = new Machine();
    try {
      await machine.#boot(options);
      return machine;
    } catch (error) {
      const console = machine.console();
      await machine[Symbol.asyncDispose]();
      throw new Error(`the machine does not come up: ${console.slice(-3_000)}`, { cause: error });
    }
  }

  /** A command of guest/main.ts. */
  async call<T>(command: string, params: object = {}, ms = CALL_MS): Promise<T> {
    const id = ++this.#calls;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.#wire!.write(`${JSON.stringify({ id, command, params })}\n`);
    const answer = await inTime(answered, ms, `${command}: ${this.console().slice(-2_000)}`);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.result as T;
  }

  /** What the kernel and the guest said. */
  console(): string {
    const path = join(this.#folder, 'console');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  /** What the machine's panel shows. */
  async screenshot(): Promise<Screenshot> {
    const filename = join(this.#folder, 'screen.ppm');
    await this.ask('screendump', { filename });
    const bytes = readFileSync(filename);
    const head = /^P6\n(\d+) (\d+)\n255\n/.exec(bytes.subarray(0, 40).toString('latin1'));
    if (!head) throw new Error('the monitor wrote no picture');
    return { width: Number(head[1]), height: Number(head[2]), rgb: bytes.subarray(head[0].length) };
  }

  /** A command of QEMU's monitor. */
  async ask(execute: string, args: object = {}): Promise<unknown> {
    const answered = new Promise<Record<string, unknown>>((resolve) => {
      this.#monitorAnswer = resolve;
    });
    this.#monitor!.write(`${JSON.stringify({ execute, arguments: args })}\n`);
    const answer = await inTime(answered, CALL_MS, `the monitor, asked for ${execute}`);
    if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error));
    return answer.return;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#wire?.destroy();
    this.#monitor?.destroy();
    const qemu = this.#qemu;
    if (qemu && qemu.exitCode === null && qemu.signalCode === null) {
      const gone = new Promise((resolve) => qemu.once('exit', resolve));
      // It hands the signal on to qemu; killed, it would leave it behind.
      qemu.kill('SIGTERM');
      await gone;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #boot({ modules, devices, append = '', disk, memoryMB = 1_024 }: MachineOptions): Promise<void> {
    const { image, modules: folder } = kernel()!;
    const initrd = join(this.#folder, 'initrd');
    (disk === undefined ? checkoutInitrd : diskInitrd)(initrd, folder, modules);
    const [wire, monitor] = [join(this.#folder, 'wire'), join(this.#folder, 'monitor')];
    const line = `console=ttyS1 panic=-1 quiet vt.global_cursor_default=0 consoleblank=0 ${append}`;
    const args = [
      ...['-n', '10', QEMU, '-M', 'q35', '-accel', ACCEL, '-cpu', 'max', '-smp', '2', '-m', String(memoryMB)],
      ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-vga', 'none', '-nic', 'none'],
      ...['-kernel', image, '-initrd', initrd, '-append', line],
      ...['-chardev', `socket,id=wire,path=${wire},server=on,wait=off`, '-serial', 'chardev:wire'],
      ...['-serial', `file:${join(this.#folder, 'console')}`],
      ...['-qmp', `unix:${monitor},server=on,wait=off`],
      ...(disk === undefined ? [] : ['-drive', `file=${disk},if=virtio,format=raw,snapshot=on`]),
      ...devices.flatMap((device) => ['-device', device]),
    ];
    // Whatever happens to this test, the machine ends by itself.
    const qemu = spawn('timeout', ['--kill-after=5', '1800', 'nice', ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#qemu = qemu;
    let said = '';
    qemu.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2_000);
    });
    let failure: Error | undefined;
    qemu.once('exit', (code) => {
      failure = new Error(`qemu ended with ${code}: ${said}`);
    });
    const stillThere = (there: boolean): boolean => {
      if (failure) throw failure;
      return there;
    };
    const socket = (path: string) =>
      eventually(async () => stillThere(true) && (await connected(path)), `the socket ${path}`, { ms: 60_000 });
    [this.#wire, this.#monitor] = [await socket(wire), await socket(monitor)];
    await this.#greet();
    await eventually(() => stillThere(this.#ready), 'the program of the guest', { ms: BOOT_MS, every: 100 });
  }

  async #greet(): Promise<void> {
    createInterface({ input: this.#wire! }).on('line', (text) => this.#heard(text));
    const greeted = Promise.withResolvers<void>();
    createInterface({ input: this.#monitor! }).on('line', (text) => {
      const said = JSON.parse(text) as Record<string, unknown>;
      if ('QMP' in said) greeted.resolve();
      else if ('return' in said || 'error' in said) this.#monitorAnswer?.(said);
    });
    await greeted.promise;
    await this.ask('qmp_capabilities');
  }

  #heard(text: string): void {
    if (text.trim() === 'READY') this.#ready = true;
    if (!text.startsWith('{')) return;
    const answer = JSON.parse(text) as Answer;
    this.#waiting.get(answer.id)?.(answer);
    this.#waiting.delete(answer.id);
  }
}

/** Undefined where the socket is not there, or does not listen yet. */
async function connected(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  const { promise, resolve } = Promise.withResolvers<Socket | undefined>();
  socket.once('connect', () => resolve(socket)).once('error', () => resolve(undefined));
  return promise;
}

async function inTime<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer in ${ms} ms: ${what}`)), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
