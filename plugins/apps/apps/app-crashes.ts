import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import {
  type Clock,
  type CrashLimits,
  CrashPolicy,
  type CrashState,
  type Logger,
  maybe,
  reasonOf,
} from '@device-core/plugin-api';
import { replaceFileSync } from '@device-core/plugin-api/durable';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

interface Kept extends CrashState {
  readonly boot: string;
  /** Milliseconds since the boot: a clock that nobody sets. */
  readonly at: number;
  /** Hash of the manifest: an update is forgiven. */
  readonly hash: string;
  /** Why it is in quarantine. */
  readonly quarantine?: string;
}

export interface AppCrashesOptions {
  readonly manifest: AppManifest;
  readonly limits: CrashLimits;
  readonly paths: DeviceInfo['paths'];
  readonly clock: Clock;
  readonly log: Logger;
}

/** The crash policy of one app. A restart of the Core forgives nothing, a reboot everything: it is kept in the run folder. */
export class AppCrashes {
  /** Why it was in quarantine when the Core began; undefined when it was not. */
  readonly quarantine: string | undefined;
  readonly #policy: CrashPolicy;
  readonly #options: AppCrashesOptions;
  readonly #file: string;
  #isKept = false;

  constructor(options: AppCrashesOptions) {
    const { limits, manifest, paths, clock } = options;
    this.#options = options;
    this.#policy = new CrashPolicy(limits);
    this.#file = join(paths.run, 'app-crashes', `${manifest.name}.json`);
    const kept = readKept(this.#file);
    if (!kept || kept.boot !== bootId() || kept.hash !== hashOf(manifest)) return;
    this.#isKept = true;
    const pausedMs = Math.max(0, sinceBoot() - kept.at);
    this.#policy.resume({ row: kept.row, agesMs: kept.agesMs.map((age) => age + pausedMs) }, clock.monotonic());
    this.quarantine = kept.quarantine;
  }

  get count(): number {
    return this.#policy.count;
  }

  /** As CrashPolicy.failed(). */
  failed(now: number, ranMs: number, reason: string): number | undefined {
    const pause = this.#policy.failed(now, ranMs);
    this.#keep(now, pause === undefined ? `${this.count} crashes in a short time; the last one: ${reason}` : undefined);
    return pause;
  }

  forgive(): void {
    this.#policy.forgive();
    if (!this.#isKept) return;
    this.#isKept = false;
    this.#try(() => rmSync(this.#file, { force: true }));
  }

  #keep(now: number, quarantine: string | undefined): void {
    const { manifest } = this.#options;
    const kept: Kept = {
      ...this.#policy.state(now),
      boot: bootId(),
      at: sinceBoot(),
      hash: hashOf(manifest),
      ...maybe({ quarantine }),
    };
    this.#isKept = true;
    this.#try(() => {
      mkdirSync(join(this.#file, '..'), { recursive: true, mode: 0o700 });
      // Worth nothing after a power cut, which is a reboot.
      replaceFileSync(this.#file, JSON.stringify(kept), { sync: false });
    });
  }

  /** An app is supervised although its crashes cannot be kept. */
  #try(work: () => void): void {
    try {
      work();
    } catch (thrown) {
      const { manifest, log } = this.#options;
      log.warn({ app: manifest.id, reason: reasonOf(thrown) }, 'cannot keep the crashes of an app');
    }
  }
}

/** Undefined for a file that is absent or is none of ours: then nothing is known. */
function readKept(file: string): Kept | undefined {
  let kept: Partial<Kept>;
  try {
    kept = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
  const { agesMs, row, at, boot, hash, quarantine } = kept ?? {};
  const ages = Array.isArray(agesMs) && agesMs.every((age) => Number.isFinite(age) && age >= 0);
  if (!ages || !Number.isInteger(row) || !Number.isFinite(at)) return undefined;
  if (typeof boot !== 'string' || typeof hash !== 'string') return undefined;
  if (quarantine !== undefined && typeof quarantine !== 'string') return undefined;
  return kept as Kept;
}

let boot: string | undefined;
function bootId(): string {
  boot ??= readFileSync(BOOT_ID, 'utf8').trim();
  return boot;
}

function sinceBoot(): number {
  return uptime() * 1000;
}

function hashOf(manifest: AppManifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}
