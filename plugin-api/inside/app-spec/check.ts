import type { AppSpec } from '../../contract/app-spec.ts';
import { GROUP_NAME, isPlain, specProblem } from '../../contract/run-spec.ts';
import { hostProblem, portsProblem } from './hosts.ts';
import { LIMIT_BOUNDS, LIMIT_NAMES } from './limits.ts';
import { steersLoader } from './variables.ts';

/** `<service>` of a device: a dash would nest slices. */
export const SERVICE = /^[a-z][a-z0-9]{0,15}$/;
/** Ids of apps and plugins: they name folders, units' log fields and topics. */
const ID = /^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9][A-Za-z0-9_-]*){0,7}$/;
const NAMES: Readonly<Record<AppSpec['kind'], RegExp>> = {
  app: /^app-[a-z][a-z0-9-]{0,39}$/,
  plugin: /^plugin-[a-z][a-z0-9-]{0,39}$/,
};
const NODE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const RUNTIMES: readonly string[] = ['node', 'python', 'native', 'static'] satisfies readonly AppSpec['runtime'][];
/** A variable by POSIX. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Fault of a specification; undefined for a sound one. The value comes from outside: the warden believes nothing of it.
 * Rules of the device (users, folders, nodes) are checked by code that knows the device.
 */
export function appSpecProblem(value: unknown): string | undefined {
  try {
    return problemOf(value as AppSpec);
  } catch (thrown) {
    return `it is no specification: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}

function problemOf(spec: AppSpec): string | undefined {
  if (spec.form !== 1) return `its form is ${String(spec.form)}, not 1`;
  const wrong = wrongMember(spec);
  if (wrong) return `its ${wrong}`;
  return specProblem(spec) ?? textProblem(spec) ?? reachProblem(spec);
}

/** First member that has not the type or the form that it must have. */
function wrongMember(spec: AppSpec): string | undefined {
  const { kind, name, service, id, title, version, runtime, files, limits, stopTimeoutMs } = spec;
  const tests: readonly (readonly [what: string, holds: boolean])[] = [
    ['kind is neither app nor plugin', kind === 'app' || kind === 'plugin'],
    [`name "${name}" does not fit ${NAMES[kind]}`, typeof name === 'string' && NAMES[kind]?.test(name) === true],
    // The unit of its way out has that name.
    [`name "${name}" ends in -egress`, kind !== 'app' || !name.endsWith('-egress')],
    [`service "${service}" does not fit ${SERVICE}`, typeof service === 'string' && SERVICE.test(service)],
    [`id "${id}" does not fit ${ID}`, typeof id === 'string' && id.length <= 100 && ID.test(id)],
    ['title is no text', typeof title === 'string'],
    ['version is no text', typeof version === 'string'],
    ['runtime is none', RUNTIMES.includes(runtime)],
    ['bare differs from its runtime', (spec.bare ?? false) === (runtime === 'static')],
    ['program is no text', typeof spec.program === 'string'],
    ['cwd is no text', typeof spec.cwd === 'string'],
    ['network is none', ['none', 'hosts', 'open'].includes(spec.network)],
    ['listen is no boolean', typeof spec.listen === 'boolean'],
    ['listen needs the open network', !spec.listen || spec.network === 'open'],
    ['hosts need network hosts', Array.isArray(spec.hosts) && spec.hosts.length > 0 === (spec.network === 'hosts')],
    ['way out is not its own', spec.wayOut === (spec.network === 'hosts' ? `${spec.run}/egress.sock` : undefined)],
    ['args are no texts', texts(spec.args)],
    ['env is none', isTable(spec.env)],
    ['lists of files are none', texts(files.read) && texts(files.write)],
    ['placed or linked files are none', isTable(files.placed ?? {}) && isTable(files.links ?? {})],
    ['sockets are no texts', texts(spec.sockets)],
    ['nodes are no texts', texts(spec.nodes)],
    ['groups are no texts', texts(spec.groups ?? [])],
    ['devices are no list', Array.isArray(spec.devices)],
    ['time to stop is none', Number.isInteger(stopTimeoutMs) && stopTimeoutMs >= 0 && stopTimeoutMs <= 30_000],
  ];
  const failed = tests.find(([, holds]) => !holds);
  if (failed) return failed[0];
  const limit = LIMIT_NAMES.find((one) => {
    const [least, most] = LIMIT_BOUNDS[one];
    return !(typeof limits[one] === 'number' && limits[one] >= least && limits[one] <= most);
  });
  return limit && `limit ${limit} is ${String(limits[limit])}, not ${LIMIT_BOUNDS[limit].join(' to ')}`;
}

function texts(list: unknown): boolean {
  return Array.isArray(list) && list.every((one) => typeof one === 'string');
}

function isTable(table: unknown): boolean {
  return typeof table === 'object' && table !== null && texts(Object.values(table));
}

/** Texts that could not be written into a unit, a profile or a command. */
function textProblem(spec: AppSpec): string | undefined {
  const { files, code, data, cache, run, shared } = spec;
  const own = [code, data, cache, run, shared].filter((path) => path !== undefined);
  const bad = own.find((path) => typeof path !== 'string' || !isPlain(path));
  if (bad !== undefined) return `its path "${bad}" is not absolute, or leads through . or ..`;
  const paths = [...own, spec.program, spec.cwd, ...files.read, ...files.write, ...spec.sockets, ...spec.nodes];
  const strange = [...paths, ...Object.entries(files.placed ?? {}).flat()].find((path) => /\p{Cc}/u.test(path));
  if (strange !== undefined) return `its path ${JSON.stringify(strange)} has a control character`;
  const variable = Object.keys(spec.env).find((name) => !VARIABLE.test(name));
  if (variable !== undefined) return `its variable ${JSON.stringify(variable)} does not fit ${VARIABLE}`;
  const loader = Object.keys(spec.env).find(steersLoader);
  if (loader !== undefined) return `its variable ${loader} steers the loader`;
  const all = [...paths, ...spec.args, ...Object.values(spec.env)];
  if (!all.every((text) => text.isWellFormed())) return 'one of its texts is no Unicode';
  return undefined;
}

/** Facts that stand in it twice must be equal. */
function reachProblem({ devices, nodes, groups = [], hosts, files, data, cache, kind }: AppSpec): string | undefined {
  for (const { name, path, access, group } of devices) {
    if (!NODE_NAME.test(name)) return `its device "${name}" does not fit ${NODE_NAME}`;
    if (!isPlain(path) || !path.startsWith('/dev/')) return `its device ${name} is not below /dev`;
    if (access !== 'r' && access !== 'rw') return `its device ${name} has access ${String(access)}`;
    if (group !== undefined && !GROUP_NAME.test(group)) return `its device ${name} has group "${group}"`;
  }
  if (
    !same(
      nodes,
      devices.map(({ path }) => path),
    )
  )
    return 'its nodes are not those of its devices';
  if (groups.some((group) => !devices.some((device) => device.group === group)))
    return 'a group is of none of its devices';
  for (const { host, ports } of hosts) {
    const problem = hostProblem(host) ?? portsProblem(ports);
    if (problem) return `its host "${host}": ${problem}`;
  }
  if (kind === 'app' && !files.write.every((path) => path === data || path === cache))
    return 'it writes what is not its own';
  return undefined;
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, at) => one === b[at]);
}
