/** boot.status, system.restart, system.reboot, system.powerOff. */
import { CoreError, type Logger, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import type { BootReport } from '@device-core/plugin-api/inside/boot-report';
import type { CoreRestart } from '@device-core/plugin-api/inside/core-restart';
import { MACHINE_ACTS, type Machine, type MachineAct } from '@device-core/plugin-api/inside/services/machine';
import type { Slots } from '@device-core/plugin-api/inside/services/slots';
import { exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Left } from './fell-back.ts';

const TEXT: JsonSchema = { type: 'string' };
const TEXTS: JsonSchema = { type: 'array', items: TEXT };
const COUNT: JsonSchema = { type: 'integer', minimum: 0 };
const SLOT: JsonSchema = { enum: ['a', 'b'] };
const PLACE: JsonSchema = {
  type: 'object',
  required: ['state', 'tries'],
  properties: {
    state: { enum: ['empty', 'trial', 'good', 'bad'] },
    version: TEXT,
    image: TEXT,
    tries: COUNT,
    reason: TEXT,
  },
};
const STATUS: JsonSchema = {
  type: 'object',
  required: ['loader', 'why', 'safe', 'acts'],
  properties: {
    loader: { type: 'boolean', description: 'whether a boot loader started this Core' },
    why: { type: 'string', description: 'why this slot, and why so; without a loader that there is none' },
    safe: { type: 'boolean', description: 'safe mode runs' },
    slot: SLOT,
    primary: SLOT,
    version: TEXT,
    sku: TEXT,
    image: { type: 'string', description: 'sha256:<hex> of its list' },
    rung: { enum: ['normal', 'safe', 'other', 'other-safe'], description: 'how far down the loader had to go' },
    cause: { type: 'string', description: 'why it is not on the first rung' },
    tries: { ...COUNT, description: 'starts of a slot on trial, this one counted' },
    slots: { type: 'object', properties: { a: PLACE, b: PLACE }, description: 'and primary: as of slotsAsOf' },
    slotsAsOf: { enum: ['now', 'start'], description: 'start where no plugin here knows the slots, as in safe mode' },
    repaired: { ...TEXTS, description: 'files that were put right from the other slot' },
    problems: { ...TEXTS, description: 'what else is wrong: with the record, a key, the configuration' },
    verify: { enum: ['full', 'quick', 'measured'], description: 'how the files were looked at' },
    ms: { type: 'object', additionalProperties: { type: 'number' }, description: 'milliseconds of each step' },
    waited: { ...COUNT, description: 'seconds that the start was held back' },
    pause: { ...COUNT, description: 'seconds after which an unused safe mode ends' },
    acts: { type: 'array', items: { enum: MACHINE_ACTS }, description: 'what can be done with the device from here' },
    actsReason: { type: 'string', description: 'why not all of that' },
    fellBack: {
      type: 'object',
      required: ['slot', 'reason'],
      properties: { slot: SLOT, version: TEXT, reason: TEXT },
      description: 'the slot that was left, and why; absent once a good update came or boot.seen was called',
    },
    before: { type: 'string', description: 'how the start before this one ended, in the words of systemd' },
  },
};
const NO_LOADER = 'no boot loader started this Core';
const NO_MACHINE = 'no plugin here provides the machine';
/** Longest wait for the bus of the system in a report of the start. */
const ABLE_MS = 3_000;

interface More {
  readonly slots: () => Slots | undefined;
  readonly scope: Pick<Scope, 'within'>;
  readonly log: Pick<Logger, 'warn'>;
  /** `<service>` of the specification. */
  readonly service: string;
  /** The slot that was left, as long as it was not seen. */
  readonly fellBack: () => Left | undefined;
  /** False where there was nothing. */
  readonly seen: () => Promise<boolean>;
}

export function bootOperations(
  report: BootReport | undefined,
  machine: () => Machine | undefined,
  restart: CoreRestart,
  more: More,
): readonly Operation<never, unknown>[] {
  const status: Operation<Record<string, never>, unknown> = {
    name: 'boot.status',
    summary: 'which slot runs, why, and what the boot loader found',
    params: exactly({}),
    result: STATUS,
    capability: 'system.power',
    cli: {
      aliases: ['boot'],
      columns: [
        ['why', '{why}'],
        ['safe mode', '{safe}'],
        ['ends by itself after (s)', '{pause}'],
        ['slot', '{slot}'],
        ['version', '{version}'],
        ['rung at the start', '{rung}'],
        ['cause at the start', '{cause}'],
        ['tries at the start', '{tries}'],
        ['starts next', '{primary}'],
        ['slots as of', '{slotsAsOf}'],
        ['slot a', '{slots.a.state} {slots.a.version} {slots.a.reason}'],
        ['slot b', '{slots.b.state} {slots.b.version} {slots.b.reason}'],
        ['left', '{fellBack.slot} {fellBack.version} {fellBack.reason}'],
        ['the start before', '{before}'],
        ['put right at the start', '{repaired}'],
        ['problems at the start', '{problems}'],
        ['files looked at', '{verify}'],
        ['ms: Node', '{ms.node}'],
        ['ms: record', '{ms.record}'],
        ['ms: verify', '{ms.verify}'],
        ['ms: write', '{ms.write}'],
        ['waited (s)', '{waited}'],
        ['can', '{acts}'],
        ['cannot do the rest', '{actsReason}'],
      ],
      hide: ['loader', 'image', 'sku'],
    },
    rest: { method: 'GET', path: '/boot' },
    errors: [],
    run: async () => ({
      ...(report === undefined ? { loader: false, why: NO_LOADER, safe: false } : await told(report, more)),
      ...(more.fellBack() && { fellBack: more.fellBack() }),
      ...(await actsOf(machine(), restart, more)),
    }),
  };
  const seen: Operation<Record<string, never>, unknown> = {
    name: 'boot.seen',
    summary: 'acknowledge that the device left a slot',
    description: 'The warning BOOT_FELL_BACK goes. It comes back when the device leaves a slot for another reason.',
    params: exactly({}),
    result: exactly({ seen: { type: 'boolean', description: 'false: there was nothing to be seen' } }),
    capability: 'system.power',
    cli: { columns: [['seen', '{seen}']] },
    rest: { method: 'POST', path: '/boot/seen' },
    errors: STATE_ERRORS,
    run: async () => ({ seen: await more.seen() }),
  };
  return [status, seen, ...ACTS.map((act) => actOperation(act, report, machine, restart, more.service))];
}

/** Present effects of `system.*`, in the order of the table. A machine that gives no answer in time can do nothing. */
async function actsOf(provider: Machine | undefined, restart: CoreRestart, { scope, log }: More) {
  if (provider === undefined) return { acts: restart.supervised ? ['restart'] : [], actsReason: NO_MACHINE };
  try {
    const { acts, reason } = await scope.within('the machine', ABLE_MS, () => provider.able());
    return {
      acts: MACHINE_ACTS.filter((act) => acts.includes(act)),
      ...maybe({ actsReason: reason }),
    };
  } catch (error) {
    const reason = reasonOf(error);
    log.warn({ reason }, 'the acts of the machine are not known');
    return { acts: [], actsReason: reason };
  }
}

/** Report of the loader, and the slots as they are now: an update may have written one since. */
async function told({ form: _, uptime: __, boot: ___, loader: ____, ...report }: BootReport, more: More) {
  const known = { loader: true, ...report };
  try {
    const now = await more.slots()?.status();
    if (now !== undefined && now.slots.length > 0) {
      const slots = Object.fromEntries(
        now.slots.map(({ name, booted: _booted, primary: _primary, ...slot }) => [name, slot]),
      );
      return { ...known, slots, ...maybe({ primary: now.primary }), slotsAsOf: 'now' };
    }
  } catch (error) {
    more.log.warn({ reason: reasonOf(error) }, 'the slots cannot be read: boot.status tells those of the start');
  }
  return { ...known, slotsAsOf: 'start' };
}

interface Act {
  readonly act: MachineAct;
  readonly summary: string;
  readonly path: string;
  readonly alias: string;
  readonly says: string;
}

const ACTS: readonly Act[] = [
  {
    act: 'restart',
    summary: 'end the Core, so that it is started again',
    path: '/system/restart',
    alias: 'restart',
    says: 'restart the Core',
  },
  {
    act: 'reboot',
    summary: 'start the device again',
    path: '/system/reboot',
    alias: 'reboot',
    says: 'start the device again',
  },
  {
    act: 'powerOff',
    summary: 'switch the device off',
    path: '/system/power-off',
    alias: 'power-off',
    says: 'switch the device off',
  },
];

function actOperation(
  { act, summary, path, alias, says }: Act,
  report: BootReport | undefined,
  machine: () => Machine | undefined,
  restart: CoreRestart,
  service: string,
): Operation<{ readonly safeMode?: boolean }, unknown> {
  const refused = (reason: string) => new CoreError('SLOTS_UNAVAILABLE', { verb: says, reason });
  return {
    name: `system.${act}`,
    sensitive: { act: `${says}[, safe mode: {safeMode}]` },
    summary,
    description: 'Answered before it happens. With `safeMode` the next start, and that alone, is one of safe mode.',
    params: {
      type: 'object',
      additionalProperties: false,
      properties: { safeMode: { type: 'boolean', description: 'the next start is one of safe mode' } },
    },
    result: { type: 'object', required: ['act'], properties: { act: { const: act }, safeMode: { type: 'boolean' } } },
    capability: 'system.power',
    cli: { aliases: [alias], done: `{act}: it is under way`, takesYes: true },
    rest: { method: 'POST', path, status: 202 },
    errors: ['SLOTS_UNAVAILABLE'],
    async run({ safeMode = false }) {
      if (safeMode && report === undefined) throw refused(`${NO_LOADER}; end it, and start it with --safe-mode`);
      const provider = machine();
      try {
        if (provider !== undefined) await provider.act(act, { safeMode });
        // Safe mode has no plugin that writes slots.
        else if (act === 'restart' && !safeMode && restart.supervised) restart.begin();
        else throw refused(NO_MACHINE);
      } catch (error) {
        if (!safeMode || !(error instanceof CoreError) || error.code !== 'SLOTS_UNAVAILABLE') throw error;
        // The loader looks for the file itself: a root shell is enough.
        const file = `/var/lib/${service}-system/boot/safe-mode`;
        throw refused(`${error.details.reason}; make the file ${file} as root, and start the device again`);
      }
      return { act, safeMode };
    },
  };
}
