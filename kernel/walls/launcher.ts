import { CoreError, maybe } from '@device-core/plugin-api';
import { type SandboxSpec, specProblem } from '@device-core/plugin-api/inside/sandbox';
import {
  type Launcher,
  type PrepareOptions,
  WALLS,
  type Wall,
  type WalledProgram,
  type WallMaker,
  type WallsReport,
} from '@device-core/plugin-api/inside/services/launcher';
import { isInSpan } from '@device-core/plugin-api/inside/user-range';
import { anotherUser, bubblewrap, type Maker, type MakerTrial, namespaces, nothing } from './makers.ts';

/** Environment variable with the best maker that may be used; for tests, and for a system whose bubblewrap is worse than none. */
export const BEST_WALLS = 'DEVICE_WALLS';

const MAKERS: readonly (readonly [by: WallMaker, trial: (root: boolean) => Promise<MakerTrial>])[] = [
  ['bubblewrap', bubblewrap],
  ['namespaces', namespaces],
  ['user', anotherUser],
];
const ORDER: readonly WallMaker[] = [...MAKERS.map(([by]) => by), 'none'];

interface Found {
  readonly maker: Maker;
  readonly reason?: string;
}

/** Finds out what walls this system can make, and puts programs inside them. */
export class WallLauncher implements Launcher {
  readonly #best: WallMaker;
  #found: Promise<Found> | undefined;

  constructor(best = process.env[BEST_WALLS]) {
    const named = ORDER.find((by) => by === best);
    if (best !== undefined && !named) throw new TypeError(`${BEST_WALLS} is one of ${ORDER.join(', ')}, not ${best}`);
    this.#best = named ?? 'bubblewrap';
  }

  async report(): Promise<WallsReport> {
    const { maker, reason } = await this.#find();
    const { by, users, range, usersReason, tasks } = maker;
    return { by, users, walls: maker.walls({ network: 'none' }), ...maybe({ reason, range, usersReason, tasks }) };
  }

  async prepare(spec: SandboxSpec, options: PrepareOptions = {}): Promise<WalledProgram> {
    const { descriptors = 3, demand = [], limits = [] } = options;
    const problem = specProblem(spec);
    if (problem) throw new CoreError('PARAMS_INVALID', { where: `the sandbox of ${spec.name}`, reason: problem });
    const { maker, reason = '' } = await this.#find();
    if (spec.uid !== undefined && !gives(maker, spec.uid))
      throw unavailable(spec.name, ['user'], maker.usersReason ?? (reason || `user ${spec.uid} is not of its range`));
    const walls = maker.walls(spec);
    const missing = demand.filter((wall) => walls[wall] === 'none' && !(wall === 'network' && spec.network === 'open'));
    if (missing.length > 0) throw unavailable(spec.name, missing, reason);
    const { words, feeds } = maker.wrap(spec, descriptors, limits);
    const [command = '', ...args] = maker.range && spec.uid !== undefined ? words : [...limits, ...words];
    const above = maker.above(spec);
    // Outside, the folder of a guest of another user may be closed to it: bubblewrap and unshare go there themselves.
    // Without a network wall there is no proxy to listen on the way out.
    const env = spec.network === 'hosts' && walls.network === 'none' ? withoutProxy(spec.env) : spec.env;
    return { command, args, cwd: above > 0 ? '/' : spec.cwd, env, feeds, walls, above };
  }

  /** A late trial proves nothing, so the next call repeats it. */
  #find(): Promise<Found> {
    this.#found ??= this.#tryAll().then(({ late, ...found }) => {
      if (late) this.#found = undefined;
      return found;
    });
    return this.#found;
  }

  async #tryAll(): Promise<Found & { readonly late: boolean }> {
    const reasons = this.#best === 'bubblewrap' ? [] : [`${BEST_WALLS}=${this.#best}`];
    let late = false;
    const root = process.geteuid?.() === 0;
    for (const [by, attempt] of MAKERS) {
      if (ORDER.indexOf(by) < ORDER.indexOf(this.#best)) continue;
      const trial = process.platform === 'linux' ? await attempt(root) : { failure: 'this is no Linux', late: false };
      if (!('failure' in trial)) return { maker: trial, late: late || trial.late === true, ...why(reasons) };
      reasons.push(trial.failure);
      late ||= trial.late;
    }
    return { maker: nothing, late, ...why(reasons) };
  }
}

function gives({ users, range }: Maker, uid: number): boolean {
  return users && (range === undefined || isInSpan(range, uid));
}

function why(reasons: readonly string[]): { readonly reason?: string } {
  return reasons.length > 0 ? { reason: reasons.join('; ') } : {};
}

function unavailable(name: string, missing: readonly Wall[], reason: string): CoreError {
  const walls = WALLS.filter((wall) => missing.includes(wall)).join(', ');
  return new CoreError('SANDBOX_UNAVAILABLE', { what: name, walls, reason });
}

function withoutProxy(env: SandboxSpec['env']): SandboxSpec['env'] {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^((https?|no)_proxy|node_use_env_proxy)$/i.test(name)),
  );
}
