/** Report of the boot loader in `/run/<service>-boot` for the unit of the Core and for diagnosis. */
import { readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rung, Slot, SlotName } from './boot-record.ts';

/** Report of the loader's start, `boot.json`. */
export interface BootReport {
  readonly form: 1;
  readonly loader: number;
  /** Absent: nothing could be started. */
  readonly slot?: SlotName;
  readonly version?: string;
  /** `sha256:<hex>` of its list. */
  readonly image?: string;
  readonly sku?: string;
  readonly safe: boolean;
  readonly rung: Rung;
  /** Why it is not on the first rung. */
  readonly cause?: string;
  /** Why this slot, and why so. */
  readonly why: string;
  /** Tries of the slot that starts, this start counted. */
  readonly tries: number;
  readonly primary: SlotName;
  readonly slots: Readonly<Record<SlotName, Slot>>;
  /** Files that were put right from the other slot, `a/kernel/main.js`. */
  readonly repaired: readonly string[];
  /** Further faults: of the record, a key, the configuration. */
  readonly problems: readonly string[];
  /** How the files were looked at. */
  readonly verify: 'full' | 'quick' | 'measured';
  /** Milliseconds of each step. */
  readonly ms: Readonly<Record<string, number>>;
  /** Seconds of an unused safe mode; absent where it does not end by itself. */
  readonly pause?: number;
  /** Seconds that the start was held back. */
  readonly waited: number;
  readonly boot: string;
  /** Seconds, when it chose. */
  readonly uptime: number;
  /** How the start before this one ended, in the words of systemd. */
  readonly before?: string;
}

export const BOOT_REPORT = 'boot.json';
/** Environment of the Core's unit. */
export const BOOT_ENVIRONMENT = 'boot.env';
/** Link to the slot that starts. */
export const BOOT_SLOT = 'slot';

/** Options of the Core. The folder itself is named, not the link: that one may lead elsewhere while the Core runs. */
export const bootWords = (slots: string, { slot, sku, safe }: BootReport): readonly string[] => [
  ...['--sku', join(slots, `${slot}/manifests/skus/${sku}.yaml`)],
  ...(safe ? ['--safe-mode'] : []),
];

/**
 * Each whole or as it was. Where there is no room, of bytes or of inodes, what a former start left makes some. `slots`
 * is the folder of the slots.
 */
export function leaveReport(run: string, slots: string, report: BootReport): void {
  const { slot } = report;
  const link = join(run, BOOT_SLOT);
  const args = `BOOT_ARGS=${bootWords(slots, report).join(' ')}\nDEVICE_BOOT=${join(run, BOOT_REPORT)}\n`;
  const texts = { ...(slot && { [BOOT_ENVIRONMENT]: args }), [BOOT_REPORT]: `${JSON.stringify(report)}\n` };
  const write = (): void => {
    for (const [name, text] of Object.entries(texts)) {
      writeFileSync(join(run, `.${name}`), text, { mode: 0o644 });
      renameSync(join(run, `.${name}`), join(run, name));
    }
    if (slot === undefined || leadsTo(link, join(slots, slot))) return;
    rmSync(join(run, '.slot'), { force: true });
    symlinkSync(join(slots, slot), join(run, '.slot'));
    renameSync(join(run, '.slot'), link);
  };
  try {
    write();
  } catch {
    for (const name of [BOOT_ENVIRONMENT, BOOT_REPORT]) {
      rmSync(join(run, name), { force: true });
      rmSync(join(run, `.${name}`), { force: true });
    }
    // A new link takes an inode beside the one of the old.
    if (slot !== undefined && !leadsTo(link, join(slots, slot))) rmSync(link, { force: true });
    write();
  }
}

function leadsTo(link: string, folder: string): boolean {
  try {
    return readlinkSync(link) === folder;
  } catch {
    // There is none, or no link: it is made.
    return false;
  }
}
