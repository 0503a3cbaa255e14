import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import { accountOf, egressUnitNameOf, egressUnitOf, unitOf } from '@device-core/plugin-api/inside/app-spec';
import { Refused, type WardenConfig } from './config.ts';
import type { Profiles } from './profiles.ts';

/** The warden's note in the first line of each unit that it made. */
export interface Guest extends Pick<AppSpec, 'name' | 'kind' | 'id' | 'run'> {
  readonly uid: number;
  readonly own: readonly string[];
}

/** Other folders of units, which take precedence over the warden's. */
const OTHERS = ['/etc/systemd/system', '/run/systemd/transient', '/usr/lib/systemd/system', '/lib/systemd/system'];
const MARK = '# of the warden: ';
const NAME = /^(app|plugin)-[a-z][a-z0-9-]{0,39}$/;

/** Units and user records of guests, in folders that are root's. */
export class UnitFiles {
  readonly #units: string;
  readonly #records: string;
  readonly #profiles: Pick<Profiles, 'put' | 'drop'> | undefined;

  constructor(units = '/run/systemd/system', records = '/run/userdb', profiles?: Pick<Profiles, 'put' | 'drop'>) {
    this.#units = units;
    this.#records = records;
    this.#profiles = profiles;
  }

  /** Throws Refused for a name without a unit of the warden. */
  guest(name: unknown): Guest {
    const text = typeof name === 'string' && NAME.test(name) ? textOf(this.#path(name)) : '';
    if (!text.startsWith(MARK)) throw new Refused(`there is no guest ${JSON.stringify(name)}`);
    return JSON.parse(text.slice(MARK.length, text.indexOf('\n'))) as Guest;
  }

  guests(): readonly Guest[] {
    const names = readdirSync(this.#units).map((file) => file.replace(/\.service$/, ''));
    const own = (name: string) => NAME.test(name) && textOf(this.#path(name)).startsWith(MARK);
    return names.filter(own).map((name) => this.guest(name));
  }

  /** Writes changed files; true if there was a change. */
  put(spec: AppSpec & { readonly uid: number }, own: readonly string[], { run, most }: WardenConfig): boolean {
    const { name, kind, id, uid } = spec;
    const others = this.guests().filter((guest) => guest.name !== name);
    const rival = others.find((guest) => guest.uid === uid || (guest.id === id && guest.kind === kind));
    if (rival) throw new Refused(`user ${uid} or id ${id} is that of ${rival.name}`);
    if (others.length >= most) throw new Refused(`${most} guests are the limit`);
    const foreign = OTHERS.find((folder) => existsSync(`${folder}/${name}.service`));
    if (foreign) throw new Refused(`there is another ${name}.service in ${foreign}`);
    const egress = egressUnitOf(spec, { run });
    const profile = this.#profiles?.put(spec);
    const guest: Guest = { name, kind, id, uid, run: spec.run, own };
    const files = [
      ...Object.entries(accountOf(spec)).map(([file, text]) => [`${this.#records}/${file}`, text] as const),
      ...(egress === undefined ? [] : [[`${this.#units}/${egressUnitNameOf(spec)}`, egress] as const]),
      [
        this.#path(name),
        `${MARK}${JSON.stringify(guest)}\n${unitOf(spec, { run, confined: profile !== undefined })}`,
      ] as const,
    ];
    return [profile === 'changed', ...files.map(([path, text]) => write(path, text))].includes(true);
  }

  drop(guest: Guest): void {
    this.#profiles?.drop(guest);
    const records = Object.keys(accountOf(guest)).map((file) => `${this.#records}/${file}`);
    for (const path of [this.#path(guest.name), `${this.#units}/${egressUnitNameOf(guest)}`, ...records])
      rmSync(path, { force: true });
  }

  readonly #path = (name: string) => `${this.#units}/${name}.service`;
}

export const textOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '');

/** Writes a file as a whole or not at all; /run is lost with the power, so there is no flush. */
export function write(path: string, text: string): boolean {
  if (textOf(path) === text) return false;
  rmSync(`${path}.new`, { force: true });
  writeFileSync(`${path}.new`, text, { flag: 'wx' });
  chmodSync(`${path}.new`, 0o644);
  renameSync(`${path}.new`, path);
  return true;
}
