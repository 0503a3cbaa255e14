import { dirname, resolve } from 'node:path';
import type {
  DeviceInfo,
  Isolation,
  Logger,
  PluginDefinition,
  PluginManifest,
  ServiceRefs,
} from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';
import { turns } from '../isolation/guest/guest.ts';
import type { Peer } from '../isolation/remote/index.ts';

/** Environment variable with the level of isolation of every createTestHost() that names none. */
export const ISOLATION_VARIABLE = 'DEVICE_TEST_ISOLATION';
export const LEVELS: readonly Isolation[] = ['inline', 'worker', 'process'];

/** Why a plugin is not run at a level, in its manifest's own words; undefined where it is. */
export function refusal(manifest: PluginManifest, level: Isolation): string | undefined {
  const { isolation = 'inline', refuses } = manifest;
  if (LEVELS.indexOf(level) < LEVELS.indexOf(isolation)) return `its manifest asks for ${isolation} at least`;
  return level === 'inline' ? undefined : refuses?.[level];
}

/** Something said on one side may be answered, passed on and answered again. */
const TRIPS = 4;

export interface Placed<R extends ServiceRefs, C> {
  readonly level: Isolation;
  readonly definition: PluginDefinition<R, C>;
  /** Resolves when what was said on either side has had its effects on the other. */
  settle(): Promise<void>;
}

export interface IsolationOptions {
  readonly manifest: PluginManifest;
  /** Path of the manifest's file; without one the plugin cannot be started elsewhere. */
  readonly file: string | undefined;
  /** The level that the test names. */
  readonly isolation: Isolation | undefined;
  readonly paths: DeviceInfo['paths'];
  readonly log: Logger;
}

/**
 * The plugin itself, or what stands for it while it runs in a worker or process. A level that only the environment names gives way to the highest
 * one below it that the plugin bears. Throws ISOLATION_UNSUPPORTED where the test names one that it does not.
 */
export async function atLevel<R extends ServiceRefs, C>(
  plugin: PluginDefinition<R, C>,
  options: IsolationOptions,
): Promise<Placed<R, C>> {
  const { manifest, file, paths, log } = options;
  const level = options.isolation ?? ambientLevel(manifest, file);
  const reason = file === undefined && level !== 'inline' ? 'its manifest is not a file' : refusal(manifest, level);
  if (reason !== undefined && options.isolation !== undefined)
    throw new CoreError('ISOLATION_UNSUPPORTED', { plugin: manifest.id, isolation: level, reason });
  if (level === 'inline' || file === undefined) return { level: 'inline', definition: plugin, settle: turns };
  const { isolatedPlugin } = await import('../isolation/index.ts');
  let peer: Peer | undefined;
  const settle = async () => {
    for (let trip = 0; trip < TRIPS; trip++) {
      await turns();
      await peer?.call('turns').catch(() => undefined); // a guest that has ended has settled
    }
  };
  const definition = isolatedPlugin({
    ...{ level, manifest, budget: manifest.budget ?? {}, paths },
    main: resolve(dirname(file), manifest.main),
    onCrash: (err) => log.error({ err }, `plugin ${manifest.id} crashed: ${err.message}`),
    onPeer: (made) => {
      peer = made;
    },
  });
  return { level, definition: definition as unknown as PluginDefinition<R, C>, settle };
}

function ambientLevel(manifest: PluginManifest, file: string | undefined): Isolation {
  const named = process.env[ISOLATION_VARIABLE] as Isolation | undefined;
  if (named === undefined || file === undefined) return 'inline';
  if (!LEVELS.includes(named)) throw new TypeError(`${ISOLATION_VARIABLE} is ${LEVELS.join(', ')}, not ${named}`);
  const upTo = LEVELS.slice(0, LEVELS.indexOf(named) + 1);
  return upTo.findLast((level) => refusal(manifest, level) === undefined) ?? named;
}
