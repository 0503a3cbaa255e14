import type { SandboxSpec } from '../../contract/run-spec.ts';
import { type Architecture, AUDIT_ARCH, DENIED_CALLS, JUDGED_CALLS, NEWEST_CALL, numberOf } from './syscalls.ts';

/** Instructions of classic BPF (linux/bpf_common.h): load a word, mask it, compare with a constant, answer. */
const LOAD = 0x20;
const AND = 0x54;
const EQUAL = 0x15;
const GREATER = 0x25;
const ANY_BIT = 0x45;
const ANSWER = 0x06;
const BYTES = 8;

/** Answers (linux/seccomp.h). */
const ALLOW = 0x7fff_0000;
const KILL = 0x8000_0000;
const refuse = (errno: number): number => 0x0005_0000 | errno;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** Offsets in struct seccomp_data; of the arguments the lower half, which is all that these calls look at. */
const CALL = 0;
const ARCHITECTURE = 4;
const argument = (index: number): number => 16 + 8 * index;

/** CLONE_NEW*: a namespace of its own would give back what was taken. */
const CLONE_NEW = 0x7e02_0000;
const FAMILIES = { unix: 1, inet: 2, inet6: 10, netlink: 16 };
/** With named hosts the way out is a proxy on 127.0.0.1. */
const FAMILIES_OF: Readonly<Record<SandboxSpec['network'], readonly number[]>> = {
  none: [FAMILIES.unix],
  hosts: [FAMILIES.unix, FAMILIES.inet],
  open: Object.values(FAMILIES),
};
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const ASK_PERSONALITY = 0xffff_ffff;
/** Not the flag that a child begins with the usual class again. */
const SCHEDULER_CLASS = 0xbfff_ffff;
/** FIFO, RR, DEADLINE. */
const REALTIME = [1, 2, 6];
/** Character and block devices have this bit in their mode; pipes, sockets and files have not. */
const DEVICE_NODE = 0x2000;

type Instruction = readonly [code: number, yes: number, no: number, constant: number];

/**
 * The filter of a guest's system calls as bubblewrap takes it: a classic BPF program of 8 bytes an instruction,
 * little-endian. Denied calls fail with EPERM, sockets of other families with EAFNOSUPPORT, unknown calls with ENOSYS;
 * a call of another architecture ends the process.
 */
export function seccompOf({ network }: Pick<SandboxSpec, 'network'>, architecture: Architecture): Uint8Array {
  const call = (name: keyof typeof JUDGED_CALLS, judge: readonly Instruction[]) =>
    when(numberOf(JUDGED_CALLS[name], architecture), judge);
  const families = FAMILIES_OF[network];
  const node = (index: number): readonly Instruction[] => [
    load(argument(index)),
    ...refusing(ANY_BIT, DEVICE_NODE),
    answer(ALLOW),
  ];
  return assembled([
    load(ARCHITECTURE),
    [EQUAL, 1, 0, AUDIT_ARCH[architecture]],
    answer(KILL),
    load(CALL),
    ...refusing(GREATER, NEWEST_CALL, ENOSYS),
    ...Object.values(DENIED_CALLS)
      .flatMap((group) => Object.values(group))
      .flatMap((numbers) => when(numberOf(numbers, architecture), [answer(refuse(EPERM))])),
    // Its flags lie in memory, where no filter sees them; libc falls back to clone.
    ...call('clone3', [answer(refuse(ENOSYS))]),
    ...call('clone', [load(argument(0)), ...refusing(ANY_BIT, CLONE_NEW), answer(ALLOW)]),
    ...call('socket', [
      load(argument(0)),
      ...families.flatMap((family) => when(family, [answer(ALLOW)])),
      answer(refuse(EAFNOSUPPORT)),
    ]),
    // They write into the terminal from which the Core was started.
    ...call('ioctl', [load(argument(1)), ...refusing(EQUAL, TIOCSTI), ...refusing(EQUAL, TIOCLINUX), answer(ALLOW)]),
    ...call('personality', [load(argument(0)), ...when(ASK_PERSONALITY, [answer(ALLOW)]), answer(refuse(EPERM))]),
    ...call('sched_setscheduler', [
      load(argument(1)),
      [AND, 0, 0, SCHEDULER_CLASS],
      ...REALTIME.flatMap((policy) => refusing(EQUAL, policy)),
      answer(ALLOW),
    ]),
    ...call('mknod', node(1)),
    ...call('mknodat', node(2)),
    answer(ALLOW),
  ]);
}

function load(offset: number): Instruction {
  return [LOAD, 0, 0, offset];
}

function answer(value: number): Instruction {
  return [ANSWER, 0, 0, value];
}

function refusing(test: number, constant: number, errno = EPERM): readonly Instruction[] {
  return [[test, 0, 1, constant], answer(refuse(errno))];
}

/** The rest, where what was loaded is this constant; nothing for a call that the processor has not. */
function when(constant: number | undefined, rest: readonly Instruction[]): readonly Instruction[] {
  return constant === undefined ? [] : [[EQUAL, 0, rest.length, constant], ...rest];
}

function assembled(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, [code, yes, no, constant]] of program.entries()) {
    const at = index * BYTES;
    view.setUint16(at, code, true);
    view.setUint8(at + 2, yes);
    view.setUint8(at + 3, no);
    view.setUint32(at + 4, constant >>> 0, true);
  }
  return bytes;
}
