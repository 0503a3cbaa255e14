/** Program that starts and stops one plugin twice at one level and prints its findings as JSON. The plugin may hang or exit. */
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Isolation, PluginDefinition } from '@device-core/plugin-api';
import { CoreError, reasonOf, type ServiceRef, serviceRef } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
import semver from 'semver';
import { originOf } from '../../blame.ts';
import { createTestHost } from '../host.ts';
import { leakCheck } from '../leak-check.ts';
import { checkManifest, readManifest } from '../manifest.ts';
import { TestOperations } from '../operations.ts';
import { Observations } from './claims.ts';
import { isKernelService, standIn } from './stand-in.ts';

export interface StartStop {
  /** Problems; empty if there are none. */
  readonly problems: readonly string[];
  /** Result of checkManifest(). */
  readonly disagreements: readonly string[];
  /** Services with stand-ins that answer nothing. */
  readonly standIns: readonly string[];
  readonly startMs: readonly number[];
}

/** Exports of a plugin's `fakes.ts`, all of them optional. */
interface Fakes {
  readonly services?: () => readonly (readonly [ServiceRef<unknown>, object])[];
  readonly config?: object;
}

const [manifest = '', main = '', level = 'inline', notes = '', fakesFile = ''] = process.argv.slice(2);
const problems: string[] = [];
const startMs: number[] = [];
const standIns: string[] = [];
let disagreements: readonly string[] = [];

try {
  await run();
} catch (error) {
  problems.push(told(error));
}
process.stdout.write(`\n${JSON.stringify({ problems, disagreements, standIns, startMs } satisfies StartStop)}\n`);
// A leak was reported above; it must not keep this process alive.
process.exit(0);

async function run(): Promise<void> {
  const { plugin } = (await import(pathToFileURL(main).href)) as { readonly plugin?: PluginDefinition };
  if (typeof plugin?.setup !== 'function') throw new Error('it exports no `plugin` with setup()');
  disagreements = checkManifest(manifest, plugin);
  const fakes: Fakes = fakesFile === '' ? {} : await import(pathToFileURL(fakesFile).href);
  // The streams open with the first write, which is no leak.
  for (const stream of [process.stdout, process.stderr]) stream.write('');
  const nothingLeft = leakCheck();
  for (const round of ['first', 'second']) await startAndStop(plugin, fakes, round);
  await nothingLeft();
}

/** Text of an error, with the plugin's line if the message has none. */
function told(error: unknown): string {
  const place = error instanceof CoreError ? undefined : originOf(error, [[main, `${dirname(main)}/`]])?.place;
  return place === undefined ? reasonOf(error) : `${reasonOf(error)} (${place})`;
}

async function startAndStop(plugin: PluginDefinition, fakes: Fakes, round: string): Promise<void> {
  const began = performance.now();
  const given = fakes.services?.() ?? [];
  const services = [...missing(given), ...given];
  const isolation = level as Isolation;
  const host = await createTestHost(plugin, { manifest, config: fakes.config ?? {}, services, isolation });
  startMs.push(performance.now() - began);
  // Timers and first connections get a moment to go wrong.
  await new Promise((resolve) => setTimeout(resolve, 50));
  await host.stop();
  const told = host.logged.filter((line) => line.level === 'error');
  for (const line of told) problems.push(`it logged an error after the ${round} start: ${line.message}`);
  for (const label of host.leaks()) problems.push(`after the ${round} stop it still holds ${label}`);
}

/** Stand-ins for required services that `fakes.ts` does not give. */
function missing(given: readonly (readonly [ServiceRef<unknown>, object])[]) {
  const wanted = Object.entries(readManifest(manifest).requires ?? {});
  const left = wanted.filter(([id]) => !isKernelService(id) && !given.some(([ref]) => ref.id === id));
  return left.map(([id, range]): readonly [ServiceRef<unknown>, object] => {
    if (id === operations.id) return [operations, new TestOperations()];
    if (!standIns.includes(id)) standIns.push(id);
    return [
      serviceRef<object>(id, semver.minVersion(range)?.version ?? '1.0.0'),
      standIn(level === 'inline' ? undefined : methodsOf(id)),
    ];
  });
}

/** Methods of a service that an inline run called. */
function methodsOf(service: string): readonly string[] {
  const called = new Observations(notes, readManifest(manifest).id).names('method');
  return called.flatMap((name) => (name.startsWith(`${service}.`) ? [name.slice(service.length + 1)] : []));
}
