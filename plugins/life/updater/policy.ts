/**
 * The rules of updates, in the order in which they are asked: the first that says no is told. Pure; the guide of
 * operators has its table from here.
 */
import { createHash } from 'node:crypto';
import type { InhibitLease } from '@device-core/plugin-api/inside/services/updates';
import { compare } from '@device-core/plugin-api/inside/versions';
import type { NetworkState } from '@device-core/plugin-api/services/network';
import type { PowerState } from '@device-core/plugin-api/services/power';
import type { WallTimeState } from '@device-core/plugin-api/services/wall-time';
import type { UpdaterConfig } from './configuration.ts';
import type { UpdateRecord, Wanted } from './record.ts';
import { openWindow } from './window.ts';

export const ACTS = ['check', 'download', 'activate'] as const;
export type Act = (typeof ACTS)[number];

/** All that the rules look at. */
export interface Facts {
  readonly config: UpdaterConfig;
  readonly record: UpdateRecord;
  readonly wanted?: Wanted | undefined;
  /** Milliseconds since the Unix epoch, and what the clock shows where the device is. */
  readonly now: number;
  readonly slots: 'there' | 'none' | 'unknown';
  /** Version that runs, and the floor below which nothing is taken. */
  readonly running?: string | undefined;
  readonly floor?: string | undefined;
  readonly device: string;
  readonly network?: NetworkState | undefined;
  readonly power?: PowerState | undefined;
  readonly time?: WallTimeState | undefined;
  readonly turn: boolean;
  readonly leases: readonly InhibitLease[];
  /** Bytes that have to be fetched, and bytes that there is room for. */
  readonly fetch?: { readonly bytes: number; readonly room: number } | undefined;
}

export interface Rule {
  readonly name: string;
  /** The rule in words, for the guide. */
  readonly sentence: string;
  /** Remedy for an operator. */
  readonly todo: string;
  readonly acts: readonly Act[];
  /** `everyone`: also for what an operator asks for; `automatic`: only for what the device does by itself. */
  readonly binds: 'everyone' | 'automatic';
  /** It passes by itself: an order waits for it. `--anyway` passes over it. */
  readonly passes: boolean;
  /** Why not. */
  says(facts: Facts): string | undefined;
}

const DAY = 86_400_000;

/** 0 to 100: where a device stands in the queue for an image. Another image, another queue. */
export function placeOf(device: string, image: string): number {
  const hash = createHash('sha256').update(`${device}\n${image}`).digest();
  return (hash.readUInt32BE(0) / 2 ** 32) * 100;
}

/** Days that an image rests before it is taken. */
export const holdDays = (config: UpdaterConfig, { severity }: Pick<Wanted, 'severity'>): number =>
  severity === 'security' ? Math.min(config.holdDays, config.securityHoldDays) : config.holdDays;

/** The reason of rule `floor`, with what to do: an image that is refused at once leaves nothing that `update why` could tell. */
export const belowFloor = (version: string, floor: string | undefined): string | undefined =>
  floor !== undefined && compare(version, floor) < 0
    ? `version ${version} is below the floor ${floor}, which never sinks: take ${floor} or a newer image`
    : undefined;

/** The reason of rule `metered`, which is that of packages, too. */
export const costsMoney = (network: NetworkState | undefined, { metered }: UpdaterConfig): string | undefined =>
  network?.metered && !metered ? 'the network is metered' : undefined;

export const RULES: readonly Rule[] = [
  {
    name: 'slots',
    sentence: 'The device has no two slots: it is a checkout, or the system brings the Core.',
    todo: 'Update it the way it was installed, or make a device of it with `devicectl image install`.',
    acts: ['check', 'download', 'activate'],
    binds: 'everyone',
    passes: false,
    says: ({ slots }) => (slots === 'none' ? 'this device has no slots' : undefined),
  },
  {
    name: 'held',
    sentence: 'An operator holds updates back.',
    todo: '`devicectl update resume` ends it.',
    acts: ['check', 'download', 'activate'],
    binds: 'automatic',
    passes: true,
    says: ({ record: { hold }, now }) => {
      if (!hold || (hold.until !== undefined && hold.until <= now)) return undefined;
      const until = hold.until === undefined ? '' : ` until ${new Date(hold.until).toISOString()}`;
      return `updates are held back${until}: ${hold.reason}`;
    },
  },
  {
    name: 'repository',
    sentence: 'The device has no repository, so it finds no update by itself.',
    todo: 'Set `url` of plugin `updater`. A file needs none: `devicectl update install <file>`.',
    acts: ['check'],
    binds: 'everyone',
    passes: false,
    says: ({ config }) => (config.url === undefined ? 'no repository is configured' : undefined),
  },
  {
    name: 'clock',
    sentence: 'The clock was not set since the device was switched on, so nothing can be said about dates.',
    todo: 'Give it a network with a time server, or set the time; `devicectl time` tells.',
    acts: ['check'],
    binds: 'automatic',
    passes: true,
    says: ({ time }) => (time?.set === false ? 'the clock is not set' : undefined),
  },
  {
    name: 'withdrawn',
    sentence: 'The maker has called the image back.',
    todo: 'Wait for the next one.',
    acts: ['download', 'activate'],
    binds: 'everyone',
    passes: false,
    says: ({ wanted }) =>
      wanted?.withdrawn === undefined ? undefined : `${wanted.version} was called back: ${wanted.withdrawn}`,
  },
  {
    name: 'blocked',
    sentence: 'The configuration of the device blocks this version.',
    todo: 'Take the version out of `blocked` of plugin `updater`, or wait for the next one.',
    acts: ['download', 'activate'],
    binds: 'everyone',
    passes: false,
    says: ({ wanted, config }) =>
      wanted && config.blocked.includes(wanted.version) ? `version ${wanted.version} is blocked` : undefined,
  },
  {
    name: 'floor',
    sentence: 'The image is older than the oldest version that the device still takes.',
    todo: 'Nothing: the floor never sinks. Take a newer image.',
    acts: ['download', 'activate'],
    binds: 'everyone',
    passes: false,
    says: ({ wanted, floor }) => wanted && belowFloor(wanted.version, floor),
  },
  {
    name: 'downgrade',
    sentence: 'The image is older than what runs.',
    todo: 'If it is meant, say so: `devicectl update install <file> --downgrade`.',
    acts: ['download', 'activate'],
    binds: 'everyone',
    passes: false,
    says: ({ wanted, running }) =>
      wanted && running !== undefined && !wanted.downgrade && compare(wanted.version, running) < 0
        ? `version ${wanted.version} is older than ${running}, which runs`
        : undefined,
  },
  {
    name: 'rolled-back',
    sentence: 'The device has taken this very image back before.',
    todo: 'Look why with `devicectl update history`; `devicectl update apply` tries it again.',
    acts: ['download', 'activate'],
    binds: 'automatic',
    passes: false,
    says: ({ wanted, record }) => {
      const former = record.bad.find(({ image }) => image === wanted?.image);
      return former && `version ${former.version} was taken back here: ${former.reason}`;
    },
  },
  {
    name: 'channel',
    sentence: 'The image came by another channel than the one that the device follows now.',
    todo: 'Check again: `devicectl update check`.',
    acts: ['download', 'activate'],
    binds: 'automatic',
    passes: false,
    says: ({ wanted, config }) =>
      wanted?.channel !== undefined && wanted.channel !== config.channel
        ? `it is of channel ${wanted.channel}, this device follows ${config.channel}`
        : undefined,
  },
  {
    name: 'rollout',
    sentence: 'The image goes out to a part of all devices first, and this one is not among them yet.',
    todo: 'Wait for a check after the part has grown, or take it now: `devicectl update apply`.',
    acts: ['download', 'activate'],
    binds: 'automatic',
    passes: false,
    says: ({ wanted, device }) => {
      if (wanted?.rollout === undefined || wanted.rollout >= 100) return undefined;
      const place = placeOf(device, wanted.image);
      if (place < wanted.rollout) return undefined;
      return `it is out for ${wanted.rollout} % of the devices, this one is at ${Math.floor(place)} %`;
    },
  },
  {
    name: 'hold-days',
    sentence: 'The image is so new that the device lets it rest, as its configuration says.',
    todo: 'Wait, lower `holdDays` of plugin `updater`, or take it now: `devicectl update apply`.',
    acts: ['download', 'activate'],
    binds: 'automatic',
    passes: true,
    says: ({ wanted, config, now }) => {
      if (wanted?.kind !== 'repository') return undefined;
      const days = holdDays(config, wanted);
      const until = wanted.since + days * DAY;
      return until <= now
        ? undefined
        : `it rests ${days} ${days === 1 ? 'day' : 'days'}, until ${new Date(until).toISOString()}`;
    },
  },
  {
    name: 'offline',
    sentence: 'The device does not reach the internet.',
    todo: 'Look at the network: `devicectl network`. A file needs none: `devicectl update install <file>`.',
    acts: ['check', 'download'],
    binds: 'automatic',
    passes: true,
    says: ({ network, wanted }) =>
      network && network.state !== 'online' && (!wanted || wanted.kind === 'repository')
        ? `the device is ${network.state === 'local' ? 'in its own network alone' : 'offline'}`
        : undefined,
  },
  {
    name: 'metered',
    sentence: 'A fetch costs money on this network.',
    todo: 'Wait for another network, set `metered: true`, or say `--anyway`.',
    acts: ['download'],
    binds: 'everyone',
    passes: true,
    says: ({ network, config, wanted }) => (wanted?.kind === 'repository' ? costsMoney(network, config) : undefined),
  },
  {
    name: 'space',
    sentence: 'There is no room for what has to be fetched, or it is more than the quota.',
    todo: 'Free space on the disk of the state, or raise `maxMB` of plugin `updater`.',
    acts: ['download'],
    binds: 'everyone',
    passes: false,
    says: ({ fetch }) =>
      fetch && fetch.bytes > fetch.room
        ? `${fetch.bytes} bytes have to be fetched, and there is room for ${Math.max(0, fetch.room)}`
        : undefined,
  },
  {
    name: 'consent',
    sentence: 'Plugins of the image ask for more than they have now.',
    todo: 'Look at `devicectl update status`, then `devicectl update apply --accept <digest>`.',
    acts: ['activate'],
    binds: 'everyone',
    passes: false,
    says: ({ wanted }) => toAgree(wanted, newClaims),
  },
  {
    name: 'state-forms',
    sentence: 'The image writes a form of state that what runs now cannot read: a rollback would lose it.',
    todo: 'Make a backup, then `devicectl update apply --accept <digest>`.',
    acts: ['activate'],
    binds: 'everyone',
    passes: false,
    says: ({ wanted }) => toAgree(wanted, noWayBack),
  },
  {
    name: 'window',
    sentence: 'Updates are installed at certain hours only.',
    todo: 'Wait, change `windows` of plugin `updater`, or take it now: `devicectl update apply`.',
    acts: ['activate'],
    binds: 'automatic',
    passes: true,
    says: ({ config, now, time }) => {
      if (config.windows.length === 0) return undefined;
      if (time?.set === false) return 'there are hours for updates, and the clock is not set';
      return openWindow(config.windows, now, time?.zone) ? undefined : 'it is outside the hours for updates';
    },
  },
  {
    name: 'power',
    sentence: 'The battery is too low for a restart.',
    todo: 'Plug the device in.',
    acts: ['activate'],
    binds: 'everyone',
    passes: true,
    says: ({ power, config }) => {
      if (!power) return undefined;
      if (power.state === 'low' || power.state === 'critical' || power.state === 'shutting-down')
        return `the power is ${power.state}`;
      if (power.source !== 'battery' || (power.level ?? 1) * 100 >= config.leastBattery) return undefined;
      return `the battery is at ${Math.round((power.level ?? 0) * 100)} %, ${config.leastBattery} % are the least`;
    },
  },
  {
    name: 'voice',
    sentence: 'A person talks with the device.',
    todo: 'Wait until the turn is over.',
    acts: ['activate'],
    binds: 'everyone',
    passes: true,
    says: ({ turn }) => (turn ? 'a person talks with the device' : undefined),
  },
  {
    name: 'lease',
    sentence: 'An app, or a plugin, holds updates back while it does something.',
    todo: 'Wait: a lease ends after 24 hours at the latest. `devicectl update release <id>` or `--anyway` ends the wait.',
    acts: ['activate'],
    binds: 'everyone',
    passes: true,
    says: ({ leases: [first] }) =>
      first && `${first.holder} holds it back until ${new Date(first.until).toISOString()}: ${first.reason}`,
  },
];

/** Rules that somebody's consent ends. */
export const CONSENT: readonly string[] = ['consent', 'state-forms'];

function newClaims({ asks: { claims } }: Wanted): string | undefined {
  const [first, ...more] = claims;
  const others = more.length === 0 ? '' : ` and ${more.length} more`;
  return first && `plugin ${first.plugin} newly asks for ${first.capability}${others}`;
}

function noWayBack({ asks: { forms } }: Wanted): string | undefined {
  const first = forms.find(({ way }) => way !== 'both');
  const what = first?.way === 'lost' ? 'it cannot read what is there' : 'there is no way back';
  return first && `store ${first.store} goes from form ${first.from} to ${first.to}, and ${what}`;
}

function toAgree(wanted: Wanted | undefined, what: (wanted: Wanted) => string | undefined): string | undefined {
  const reason = wanted && !isAccepted(wanted) ? what(wanted) : undefined;
  return reason && `${reason}; to agree: --accept ${wanted?.asks.digest}`;
}

/** All that somebody has to agree to, a sentence for each kind. */
export const asksFor = (wanted: Wanted): readonly string[] =>
  [newClaims(wanted), noWayBack(wanted)].filter((one) => one !== undefined);

export const isAccepted = ({ asks, accepted }: Wanted): boolean =>
  asks.digest === undefined || asks.digest === accepted;

export interface Refusal {
  readonly rule: Rule;
  readonly reason: string;
}

/** The first rule that says no. `by`: whose wish it is; `anyway`: what passes by itself is not waited for. */
export function firstNo(
  act: Act,
  facts: Facts,
  { by, anyway = false }: { readonly by: 'operator' | 'device'; readonly anyway?: boolean },
): Refusal | undefined {
  for (const rule of RULES) {
    if (!rule.acts.includes(act) || (by === 'operator' && rule.binds === 'automatic')) continue;
    if (anyway && rule.passes) continue;
    const reason = rule.says(facts);
    if (reason !== undefined) return { rule, reason };
  }
  return undefined;
}

/** The next act, for which the rules are evaluated. */
export function nextAct({ state, wanted }: UpdateRecord): Act {
  if (wanted && (state === 'available' || state === 'downloading')) return 'download';
  return wanted && (state === 'verifying' || state === 'staged' || state === 'waiting') ? 'activate' : 'check';
}
