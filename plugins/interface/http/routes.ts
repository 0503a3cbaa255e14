/**
 * Which operation a request asks for. Routes come and go with plugins, and a start must not pay for routes that nobody asks for: a table is one entry
 * for each, and whatever a route needs is made when it is first asked for.
 */
import { CoreError, type OperationInfo, type RestBinding } from '@device-core/plugin-api';
import { type ParamsReader, paramsReader } from './params.ts';

/** Characters of one segment that is a param. */
const PARAM_LIMIT = 512;
/** Of a path that is repeated in an error. */
const SHOWN = 200;
const VERSION_PREFIX = '/v1/';

export class Route {
  readonly operation: OperationInfo;
  readonly rest: RestBinding;
  #read: ParamsReader | undefined;

  constructor(operation: OperationInfo, rest: RestBinding) {
    this.operation = operation;
    this.rest = rest;
  }

  get read(): ParamsReader {
    this.#read ??= paramsReader(this.operation);
    return this.#read;
  }
}

export interface Found {
  readonly route: Route;
  /** Of the segments that are params, decoded, in their order. */
  readonly values: readonly string[];
  /** As it came, without the question mark. */
  readonly query: string;
}

interface Branch {
  readonly fixed: Map<string, Branch>;
  param?: Branch;
  route?: Route;
}

interface Method {
  /** By their whole path. */
  readonly fixed: Map<string, Route>;
  /** By their segments: those with params. */
  readonly branches: Branch;
}

const NO_VALUES: readonly string[] = [];

export class Routes {
  readonly #methods = new Map<string, Method>();
  readonly #routes: readonly Route[];

  constructor(operations: readonly OperationInfo[]) {
    this.#routes = operations.flatMap((operation) => (operation.rest ? [new Route(operation, operation.rest)] : []));
    for (const route of this.#routes) this.#add(route);
  }

  /** Undefined where there is none; REQUEST_INVALID where the path is none, or a param in it is too long. */
  find(method: string, url: string): Found | CoreError | undefined {
    const target = url.startsWith('/') ? url : targetOf(url);
    if (target === undefined) return invalid(url, BAD_URL);
    const end = target.search(/[?#]/);
    const path = end < 0 ? target : target.slice(0, end);
    const query = end < 0 ? '' : target.slice(end + 1);
    const bare = path.startsWith(VERSION_PREFIX) ? path.slice(VERSION_PREFIX.length - 1) : path;
    const there = this.#methods.get(method === 'HEAD' ? 'GET' : method);
    const fixed = there?.fixed.get(bare);
    if (fixed) return { route: fixed, values: NO_VALUES, query };
    const segments = segmentsOf(path);
    if (!segments) return invalid(target, BAD_URL);
    if (!there) return undefined;
    const search = new Search(segments);
    const versioned = segments[1] === 'v1' ? search.from(there.branches, 2) : undefined;
    const route = versioned ?? search.from(there.branches, 1);
    if (route) return { route, values: search.values, query };
    return search.tooLong ? invalid(decodedPath(path), TOO_LONG) : undefined;
  }

  /** Methods that the path has; only asked on the way to an error. */
  at(url: string): readonly RestBinding[] {
    const path = url.split('?', 1)[0]!;
    return this.#routes.filter(({ rest }) => patternOf(rest).test(path)).map(({ rest }) => rest);
  }

  #add(route: Route): void {
    const { method, path } = route.rest;
    const there = this.#methods.get(method) ?? { fixed: new Map(), branches: { fixed: new Map() } };
    this.#methods.set(method, there);
    if (!path.includes(':')) there.fixed.set(path, route);
    let branch: Branch = there.branches;
    for (const segment of path.slice(1).split('/')) {
      const next: Branch = (segment.startsWith(':') ? branch.param : branch.fixed.get(segment)) ?? { fixed: new Map() };
      if (segment.startsWith(':')) branch.param = next;
      else branch.fixed.set(segment, next);
      branch = next;
    }
    branch.route = route;
  }
}

/** One walk along the branches. A fixed segment goes before a param; where it leads nowhere the param is tried. */
class Search {
  readonly values: string[] = [];
  /** A param was not taken because of its length. */
  tooLong = false;
  readonly #segments: readonly string[];

  constructor(segments: readonly string[]) {
    this.#segments = segments;
  }

  from(branch: Branch, at: number): Route | undefined {
    if (at === this.#segments.length) return branch.route;
    const segment = this.#segments[at]!;
    const fixed = branch.fixed.get(segment);
    const route = fixed && this.from(fixed, at + 1);
    if (route || !branch.param) return route;
    if (segment.length > PARAM_LIMIT) {
      this.tooLong = true;
      return undefined;
    }
    this.values.push(segment);
    const found = this.from(branch.param, at + 1);
    if (!found) this.values.pop();
    return found;
  }
}

/** A request line may name a whole URL (RFC 9112, 3.2.2): its path and query. Undefined where it is none. */
function targetOf(url: string): string | undefined {
  const parts = /^https?:\/\/([^/?]*)(.*)$/is.exec(url);
  if (!parts) return url;
  const [, authority, rest] = parts;
  if (authority === '' || url.includes('#') || !URL.canParse(url)) return undefined;
  return rest!.startsWith('/') ? rest : `/${rest}`;
}

/** Undefined where one of them is no text. */
function segmentsOf(path: string): readonly string[] | undefined {
  const segments = path.split('/');
  if (!path.includes('%')) return segments;
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function patternOf({ path }: RestBinding): RegExp {
  const pattern = path.replaceAll('.', '\\.').replaceAll(/:[^/]+/g, '[^/]+');
  return new RegExp(`^(/v1)?${pattern}$`);
}

const BAD_URL = 'is not a valid url component';
const TOO_LONG = 'is exceeding the max param length';

function invalid(path: string, problem: string): CoreError {
  return new CoreError('REQUEST_INVALID', { reason: `'${path}' ${problem}`.slice(0, SHOWN) });
}

/** What stands for a separator stays encoded. */
function decodedPath(path: string): string {
  return path.includes('%') ? decodeURI(path.replaceAll('%25', '%2525')) : path;
}
