import { type AppSpec, appSpecProblem, LIMIT_NAMES } from '@device-core/plugin-api/inside/app-spec';
import { Refused, type WardenConfig } from './config.ts';

/** Throws Refused unless the device allows this specification. The files on disk are checked elsewhere. */
export function judged(value: unknown, config: WardenConfig): AppSpec & { readonly uid: number } {
  const spec = value as AppSpec & { readonly uid: number };
  const problem = appSpecProblem(value) ?? placeProblem(spec, config) ?? reachProblem(spec, config);
  if (problem !== undefined) throw new Refused(problem);
  return spec;
}

/** Folders that the guest writes, by their paths on the device. */
export function ownFolders({ data, cache, files }: AppSpec): readonly string[] {
  return [...new Set([data ?? [], cache ?? [], files.write, Object.values(files.placed ?? {})].flat())];
}

function placeProblem(spec: AppSpec, config: WardenConfig): string | undefined {
  const { service, kind, uid = 0, id, name, code, cwd, program, run, shared, files, sockets } = spec;
  const [first, last] = config.uids[kind];
  const own = `${config.state}/${kind}s/${id}`;
  const folders = kind === 'plugin' ? [] : [`${own}/data`, `${own}/cache`];
  const writes = ownFolders(spec);
  const reads = [code, `/etc/${service}/${id}`, ...config.read, ...writes];
  const tests: readonly (readonly [what: string, value: string, holds: boolean])[] = [
    [`service is not ${config.service}`, service, service === config.service],
    [`user is not ${first} to ${last}`, String(uid), uid >= first && uid <= last],
    ['code is not below a store', code, config.code.some((folder) => code.startsWith(`${folder}/`))],
    ['working folder is not its own', cwd, [code, ...writes].some((folder) => isBelow(cwd, folder))],
    ['program is none of the device', program, config.programs.includes(program) || isBelow(program, code)],
    ['run folder is not its own', run, run === `${config.run}/${kind}s/${name.slice(kind.length + 1)}`],
    ['shared folder is another', shared ?? '', shared === undefined || shared === `${config.run}/shared`],
    ...writes.map((path) => ['folder is not its own', path, folders.includes(path)] as const),
    ...files.read.map((path) => ['file is not its own', path, reads.some((one) => isBelow(path, one))] as const),
    ...sockets.map((path) => ['socket is not its own', path, path === run || path === shared] as const),
  ];
  const failed = tests.find(([, , holds]) => !holds);
  return failed && `its ${failed[0]}: ${failed[1]}`;
}

function reachProblem({ kind, devices, limits }: AppSpec, { nodes, ceilings }: WardenConfig): string | undefined {
  for (const { name, path, access, group } of devices) {
    const known = Object.hasOwn(nodes, name) ? nodes[name] : undefined;
    const same = known?.path === path && known.group === group && (known.access === access || known.access === 'rw');
    if (!same) return `node ${name} (${path}) is not in its list`;
  }
  const over = kind === 'app' && LIMIT_NAMES.find((one) => limits[one] > (ceilings[one] ?? Number.POSITIVE_INFINITY));
  return over ? `${over} of ${limits[over]} is above the ceiling of ${ceilings[over]}` : undefined;
}

const isBelow = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);
