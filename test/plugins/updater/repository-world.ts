/** A device that has seen one version of a repository, and what became of the repository since. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { PackageNoun } from '@device-core/plugin-api/inside/packages';
import { leakCheck } from '@device-core/plugin-api/testing';
import { openRepository } from '../../../plugins/life/updater/repository/index.ts';
import type { KnownTime } from '../../../plugins/life/updater/repository.ts';
import { part } from '../../fixtures/scope.ts';
import { PLATFORM, UpdateRepository } from '../../fixtures/update-repository.ts';
import { UpdateServer } from '../../fixtures/update-server.ts';

export const DAY = 86_400_000;
export const SET: KnownTime = { now: Date.now(), floor: 0, set: true };
export const PLACE = 'stable/kiosk/linux-x64-glibc';
export const UNTRUSTED = /^REPOSITORY_UNTRUSTED$/;
export const FAILED = /^REPOSITORY_FAILED$/;

/** Kept as soon as they are valid, whatever comes of the rest. */
const FLOORS = ['timestamp.json', 'snapshot.json'];
const versionIn = (files: readonly (readonly [string, string])[], file: string): number =>
  JSON.parse(files.find(([name]) => name === file)?.[1] ?? '{"signed":{"version":0}}').signed.version;

/** A device that has seen 1.0.0, and a repository that offers 1.1.0 since. */
export class World implements AsyncDisposable {
  readonly repository: UpdateRepository;
  readonly server: UpdateServer;
  readonly state: string;
  /** First root of the device. */
  root: string;
  time: KnownTime = SET;
  answerMs = 60_000;
  readonly #part = part();

  constructor(repository: UpdateRepository, server: UpdateServer, state: string) {
    this.repository = repository;
    this.server = server;
    this.state = state;
    this.root = repository.root;
  }

  source(url = this.server.url, sku = 'kiosk') {
    const { scope, log } = this.#part;
    return openRepository({
      url,
      sku,
      platform: PLATFORM,
      folder: this.state,
      root: this.root,
      scope,
      log,
      time: async () => this.time,
      answerMs: this.answerMs,
      leastBytesPerSecond: 1000,
    });
  }

  packages(noun: PackageNoun = 'app') {
    return this.source().packages(noun, new AbortController().signal);
  }

  async version(channel = 'stable'): Promise<string | undefined> {
    const offer = await this.source().newest(channel, new AbortController().signal);
    return offer && JSON.parse(Buffer.from(offer.list).toString()).version;
  }

  /** What the device knows, byte for byte. */
  known(): readonly (readonly [string, string])[] {
    const folder = join(this.state, 'known');
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .sort()
      .map((name) => [name, readFileSync(join(folder, name), 'latin1')] as const);
  }

  /** `good`: the metadata themselves are, and are kept; what they name is not. */
  async refuses(
    code: RegExp,
    reason: RegExp,
    good = false,
    look: () => Promise<unknown> = () => this.version(),
  ): Promise<CoreError> {
    const before = this.known();
    const error = await look().then(
      (taken) => assert.fail(`it took ${JSON.stringify(taken)}`),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof CoreError, String(error));
    assert.match(error.code, code, error.message);
    assert.match(error.message, reason);
    if (good) return error;
    const below = (files: ReturnType<World['known']>) => files.filter(([name]) => !FLOORS.includes(name));
    assert.deepEqual(below(this.known()), below(before), 'what was known is what it was');
    for (const name of FLOORS)
      assert.ok(versionIn(this.known(), name) >= versionIn(before, name), `${name} is not older than it was`);
    return error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#part[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
    await this.repository[Symbol.asyncDispose]();
    await rm(this.state, { recursive: true, force: true });
  }
}

let template: World;

export async function world(): Promise<World> {
  const repository = await template.repository.copy();
  const state = await mkdtemp(join(tmpdir(), 'dc-known-'));
  cpSync(template.state, state, { recursive: true });
  return new World(repository, await UpdateServer.open(repository.folder), state);
}

/** To be called at the top of a file: makes what the worlds are copies of, with what `prepare` adds to it, and looks for leaks at its end. */
export function worlds(prepare?: (template: World) => Promise<void>): void {
  const leaks = leakCheck();
  before(async () => {
    const repository = await UpdateRepository.create();
    const state = await mkdtemp(join(tmpdir(), 'dc-known-'));
    template = new World(repository, await UpdateServer.open(repository.folder), state);
    await repository.offer({ version: '1.0.0' });
    assert.equal(await template.version(), '1.0.0');
    await repository.offer({ version: '1.1.0' });
    await prepare?.(template);
  });
  after(async () => {
    await template[Symbol.asyncDispose]();
    await leaks();
  });
}

export const latest = (at: World, role: string): string =>
  readdirSync(join(at.repository.folder, 'metadata'))
    .filter((name) => name.endsWith(`.${role}.json`))
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
    .at(-1)!;

export const metadata = (at: World, name: string): string => join(at.repository.folder, 'metadata', name);
