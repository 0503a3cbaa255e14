import type { Isolation, PluginManifest, PluginSource } from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import { isolationProblem, LEVELS } from '../boot/sku-line.ts';
import { turns } from '../isolation/guest/turns.ts';
import type { Peer } from '../isolation/remote/index.ts';
import { loadPlugin } from '../loader.ts';
import { systemLauncher } from '../walls/index.ts';

/** Environment variable with the level of isolation of every createTestHost() that names none. */
export const ISOLATION_VARIABLE = 'DEVICE_TEST_ISOLATION';
/** Environment variable with the id of the one plugin that this level is meant for; every plugin, if absent. */
export const ISOLATED_VARIABLE = 'DEVICE_TEST_ISOLATED';
export { isolationProblem as refusal, LEVELS };

/** Trips for a message that is answered, passed on and answered again. */
const TRIPS = 4;

/**
 * Level at which the plugin runs. A level that only the environment names gives way to the highest one below it that the plugin supports.
 * Throws ISOLATION_UNSUPPORTED if the test names one that it does not support, or the manifest is no file.
 */
export function levelOf(manifest: PluginManifest, file: string | undefined, wanted: Isolation | undefined): Isolation {
  const level = wanted ?? ambientLevel(manifest, file);
  const problem = isolationProblem(manifest, level);
  const reason = file === undefined && level !== 'inline' ? 'its manifest is not a file' : problem;
  if (reason === undefined) return level;
  if (wanted === undefined) return 'inline';
  throw new CoreError('ISOLATION_UNSUPPORTED', { plugin: manifest.id, isolation: level, reason });
}

/** The border between the Core and a plugin that runs elsewhere, as a test sees it. */
export class Border {
  readonly #paths: DeviceInfo['paths'];
  #peer: Peer | undefined;

  constructor(paths: DeviceInfo['paths']) {
    this.#paths = paths;
  }

  /** A tap of plugin.load: the Core's own loader, listened to. */
  readonly load = (source: PluginSource) =>
    loadPlugin(source, {
      paths: this.#paths,
      launcher: systemLauncher,
      onPeer: (peer) => {
        this.#peer = peer;
      },
    });

  /** Resolves when the messages of either side have had their effects on the other. */
  async settle(): Promise<void> {
    for (let trip = 0; trip < TRIPS; trip++) {
      await turns();
      await this.#peer?.call('turns').catch(() => undefined); // a guest that has ended has settled
    }
  }
}

function ambientLevel(manifest: PluginManifest, file: string | undefined): Isolation {
  const named = process.env[ISOLATION_VARIABLE] as Isolation | undefined;
  const isMeant = (process.env[ISOLATED_VARIABLE] ?? manifest.id) === manifest.id;
  if (named === undefined || file === undefined || !isMeant) return 'inline';
  if (!LEVELS.includes(named)) throw new TypeError(`${ISOLATION_VARIABLE} is ${LEVELS.join(', ')}, not ${named}`);
  const upTo = LEVELS.slice(0, LEVELS.indexOf(named) + 1);
  return upTo.findLast((level) => isolationProblem(manifest, level) === undefined) ?? named;
}
