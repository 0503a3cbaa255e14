import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { type AppSpec, apparmorOf } from '@device-core/plugin-api/inside/app-spec';
import { textOf, write } from './unit-files.ts';

const PARSER = '/sbin/apparmor_parser';
const KERNEL = '/sys/kernel/security/apparmor';

/** AppArmor profiles of guests: compiled here, which takes no power, and loaded by `<service>-profile@.service` (ADR 0196). */
export class Profiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Writes and compiles the profile of a guest. Undefined where the kernel has no AppArmor, or the system no parser. */
  put(spec: AppSpec): 'changed' | 'same' | undefined {
    if (![PARSER, `${KERNEL}/features`].every((path) => existsSync(path))) return undefined;
    mkdirSync(this.#folder, { recursive: true, mode: 0o755 });
    const [text, path, profile] = [this.#path(spec.name, 'text'), this.#path(spec.name, 'bin'), apparmorOf(spec)];
    if (existsSync(path) && textOf(text) === profile) return 'same';
    // Without its text a compiled profile is made anew: one that was cut short is never kept.
    this.drop(spec);
    const words = ['-Q', '-K', '--kernel-features', `${KERNEL}/features`, '-o', path];
    const { status, stderr } = spawnSync(PARSER, words, { encoding: 'utf8', input: profile, timeout: 30_000 });
    if (status !== 0)
      throw new Error(`cannot compile the AppArmor profile of ${spec.name}: ${stderr.trim().split('\n').at(-1)}`);
    write(text, profile);
    return 'changed';
  }

  drop({ name }: Pick<AppSpec, 'name'>): void {
    for (const form of ['text', 'bin']) rmSync(this.#path(name, form), { force: true });
  }

  readonly #path = (name: string, form: string) => `${this.#folder}/${name}.${form}`;
}
