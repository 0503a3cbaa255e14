/** Scenarios that are kept: those that come with the simulator, and those of this device, one file each. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, nearest } from '@device-core/plugin-api';
import { makeFolder, readState, replaceFile, sweepFolders, syncName } from '@device-core/plugin-api/durable';
import { SCENARIO_KEPT, SCENARIO_NOT_FOUND } from './scenario-errors.ts';

const SHIPPED = join(import.meta.dirname, 'scenarios');
const MOST_SCENARIOS = 100;
const FILE = /^([a-z][a-z0-9-]{0,39})\.yaml$/;

export interface Kept {
  readonly name: string;
  readonly shipped: boolean;
}

export class Shelf {
  readonly #folder: string;
  #swept: Promise<void> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async list(): Promise<readonly Kept[]> {
    const shipped = (await namesIn(SHIPPED)).map((name) => ({ name, shipped: true }));
    const own = (await namesIn(this.#folder)).filter((name) => !shipped.some((one) => one.name === name));
    return [...shipped, ...own.map((name) => ({ name, shipped: false }))].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Its text. Rejects with SCENARIO_NOT_FOUND. */
  async read(name: string): Promise<string> {
    const all = await this.list();
    const kept = all.find((one) => one.name === name);
    const text = kept?.shipped
      ? await readFile(join(SHIPPED, `${name}.yaml`), 'utf8')
      : kept && (await readState(this.#path(name)));
    if (text !== undefined) return text;
    const near = nearest(
      name,
      all.map((one) => one.name),
    );
    throw new CoreError(SCENARIO_NOT_FOUND, {
      scenario: name,
      suggestion: near === undefined ? '' : `; did you mean ${near}?`,
    });
  }

  /** Rejects with SCENARIO_KEPT before anything is written. */
  async mayWrite(name: string, verb = 'save'): Promise<void> {
    const all = await this.list();
    const kept = all.find((one) => one.name === name);
    const reason = kept?.shipped
      ? 'it comes with the simulator'
      : !kept && all.filter(({ shipped }) => !shipped).length >= MOST_SCENARIOS
        ? `there are ${MOST_SCENARIOS} already`
        : undefined;
    if (reason !== undefined) throw new CoreError(SCENARIO_KEPT, { verb, scenario: name, reason });
  }

  /** Durable when it resolves. Rejects with SCENARIO_KEPT, and the codes of a disk that does not take it. */
  async write(name: string, text: string): Promise<void> {
    await this.mayWrite(name);
    await makeFolder(this.#folder);
    this.#swept ??= sweepFolders([this.#folder]);
    await this.#swept;
    await replaceFile(this.#path(name), text);
  }

  async remove(name: string): Promise<void> {
    await this.mayWrite(name, 'remove');
    await this.read(name);
    await rm(this.#path(name), { force: true });
    await syncName(this.#path(name));
  }

  #path(name: string): string {
    return join(this.#folder, `${name}.yaml`);
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).flatMap((file) => FILE.exec(file)?.[1] ?? []);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // nothing was kept yet
    throw error;
  }
}
