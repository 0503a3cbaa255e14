/** Processors whose system calls are known. */
export const ARCHITECTURES = ['x64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** Newest call that the list below was held against (mseal, Linux 6.10): newer calls are answered as unknown. */
export const NEWEST_CALL = 462;

/** AUDIT_ARCH_* of linux/audit.h. */
export const AUDIT_ARCH: Readonly<Record<Architecture, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };

/** [x64, arm64]; absent where the processor has no such call. */
type Numbers = readonly [x64: number | undefined, arm64: number | undefined];

/** Calls that no guest needs, grouped by their target. */
export const DENIED_CALLS: Readonly<Record<string, Readonly<Record<string, Numbers>>>> = {
  mounts: {
    mount: [165, 40],
    umount2: [166, 39],
    pivot_root: [155, 41],
    chroot: [161, 51],
    open_tree: [428, 428],
    move_mount: [429, 429],
    fsopen: [430, 430],
    fsconfig: [431, 431],
    fsmount: [432, 432],
    fspick: [433, 433],
    mount_setattr: [442, 442],
    quotactl: [179, 60],
    quotactl_fd: [443, 443],
  },
  namespaces: { unshare: [272, 97], setns: [308, 268] },
  modules: {
    create_module: [174, undefined],
    get_kernel_syms: [177, undefined],
    query_module: [178, undefined],
    init_module: [175, 105],
    finit_module: [313, 273],
    delete_module: [176, 106],
  },
  machine: {
    kexec_load: [246, 104],
    kexec_file_load: [320, 294],
    reboot: [169, 142],
    swapon: [167, 224],
    swapoff: [168, 225],
    acct: [163, 89],
    iopl: [172, undefined],
    ioperm: [173, undefined],
    modify_ldt: [154, undefined],
    vhangup: [153, 58],
    syslog: [103, 116],
    sethostname: [170, 161],
    setdomainname: [171, 162],
    nfsservctl: [180, 42],
  },
  keyring: { add_key: [248, 217], request_key: [249, 218], keyctl: [250, 219] },
  debug: {
    ptrace: [101, 117],
    process_vm_readv: [310, 270],
    process_vm_writev: [311, 271],
    process_madvise: [440, 440],
    pidfd_getfd: [438, 438],
    kcmp: [312, 272],
    perf_event_open: [298, 241],
    bpf: [321, 280],
    userfaultfd: [323, 282],
    lookup_dcookie: [212, 18],
    move_pages: [279, 239],
    migrate_pages: [256, 238],
  },
  // Memory of no process, which outlives them all and is seen from inside alone. /dev/shm does the same.
  ipc: { shmget: [29, 194], msgget: [68, 186], semget: [64, 190] },
  rings: { io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] },
  handles: {
    name_to_handle_at: [303, 264],
    open_by_handle_at: [304, 265],
    fanotify_init: [300, 262],
    fanotify_mark: [301, 263],
  },
  clocks: {
    settimeofday: [164, 170],
    clock_settime: [227, 112],
    clock_adjtime: [305, 266],
    adjtimex: [159, 171],
  },
  scheduler: { sched_setattr: [314, 274] },
  old: { uselib: [134, undefined], ustat: [136, undefined] },
};

/** Calls whose arguments decide. */
export const JUDGED_CALLS = {
  clone: [56, 220],
  clone3: [435, 435],
  socket: [41, 198],
  ioctl: [16, 29],
  personality: [135, 92],
  sched_setscheduler: [144, 119],
  mknod: [133, undefined],
  mknodat: [259, 33],
} as const satisfies Readonly<Record<string, Numbers>>;

export function numberOf(numbers: Numbers, architecture: Architecture): number | undefined {
  return numbers[ARCHITECTURES.indexOf(architecture)];
}
