/** Endpoints that handles of a SKU name: on the bridge or on the host, and never on both. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SkuSpot } from '@device-core/plugin-api/inside/sku-family';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import type { ResolvedPlugin, ResolvedSku, SkuProblem } from './resolved.ts';

/** Host plugins, the member that lists their buses, and the plugin that has handles on them. */
const HOSTS: Readonly<Record<string, readonly [member: string, bus: string]>> = {
  'host-i2c': ['buses', 'i2c'],
  'host-spi': ['buses', 'spi'],
  'host-gpio': ['chips', 'gpio'],
  'host-uart': ['lines', 'uart'],
  'host-can': ['interfaces', 'can'],
};
export const isHost = (plugin: string): boolean => Object.hasOwn(HOSTS, plugin);

type Row = Readonly<Record<string, unknown>>;

/** A bus that the host has. */
interface HostBus {
  readonly plugin: string;
  readonly bus: string;
  readonly row: Row;
}

/** A handle whose endpoint is on the host, and what is not as it would be on the bridge. */
export interface Difference {
  readonly handle: string;
  readonly plugin: string;
  readonly endpoint: string;
  readonly text: string;
}

/** `config` is that of the plugin of the handle. */
type Differs = (handle: Row, host: Row, config: Row) => readonly (string | false | undefined)[];

const DIFFERENCES: Readonly<Record<string, Differs>> = {
  i2c: ({ endpoint }, _, { speeds }) => [
    Object.hasOwn(Object(speeds), String(endpoint)) &&
      'the device tree sets the speed of the bus, and "speeds" does not',
  ],
  spi: () => ['a transfer has at most bufsiz bytes of the module spidev, 4,096 by default'],
  gpio: ({ direction, edge = 'none', safe = 'keep' }) => [
    safe !== 'keep' && `an end in order sets the safe level ${safe}; a Core that is killed leaves the line as it is`,
    direction !== 'in' && edge !== 'none' && 'the kernel tells no edges of an output, and refuses these settings',
  ],
  uart: ({ bits }) => [bits === 9 && 'the kernel has no lines of nine bits'],
  can: (handle, host) => [
    ...(['nominal', 'data'] as const).map((rate) => {
      const [wanted, set] = [handle[rate] ?? 0, host[rate] ?? 0];
      return wanted !== set && `the system sets the bit rate "${rate}" to ${set}, and ${wanted} is refused`;
    }),
    (handle.mode ?? 'normal') !== 'normal' && 'the system sets the mode of the interface',
  ],
};

export interface Findings {
  readonly problems: readonly SkuProblem[];
  readonly differences: readonly Difference[];
}

export function endpointFindings({ plugins }: ResolvedSku): Findings {
  const enabled = plugins.filter((one) => one.enabled);
  const problems: SkuProblem[] = [];
  const refuse = ({ file, line }: SkuSpot, message: string) =>
    void problems.push({ file, line, code: 'ENDPOINT_EXISTS', message });
  const hosts = new Map<string, HostBus>();
  const bridge = bridgeNames(enabled);
  for (const one of enabled.filter(({ id }) => isHost(id))) {
    const [member, bus] = HOSTS[one.id]!;
    const at = spotOf(one, member);
    for (const row of rowsOf(one.config[member])) {
      const name = String(row.name);
      const other = hosts.get(name)?.plugin;
      if (bridge.has(name)) refuse(at, `the name ${name} of ${one.id} is on the bridge as well: ${bridge.get(name)}`);
      else if (other !== undefined) refuse(at, `the name ${name} of ${one.id} is one of ${other}, too`);
      else hosts.set(name, { plugin: one.id, bus, row });
    }
  }
  const differences: Difference[] = [];
  for (const one of enabled) {
    const differs = DIFFERENCES[one.id];
    const at = spotOf(one, 'handles');
    for (const handle of rowsOf(differs && one.config.handles)) {
      const [name, endpoint] = [String(handle.name), String(handle.endpoint)];
      const host = hosts.get(endpoint);
      if (handle.where === 'bridge' && host)
        refuse(at, `the handle ${name} of ${one.id} is to be on the bridge, and ${endpoint} is one of ${host.plugin}`);
      if (handle.where === 'host' && !host)
        refuse(at, `the handle ${name} of ${one.id} is to be on the host, and no host plugin lists ${endpoint}`);
      if (host?.bus !== one.id) continue;
      for (const text of differs!(handle, host.row, one.config))
        if (text) differences.push({ handle: name, plugin: one.id, endpoint, text });
    }
  }
  return { problems, differences };
}

/** Names that are known before a bridge answers: those of a simulated board, and of handles that are to be there. */
function bridgeNames(plugins: readonly ResolvedPlugin[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { id, config, main } of plugins) {
    if (id === 'port-sim') {
      const board = String(config.board);
      const file = board.endsWith('.yaml') ? board : join(dirname(main), 'sim/boards', `${board}.yaml`);
      const { endpoints } = (existsSync(file) ? Object(parseYaml(readFileSync(file, 'utf8')).value) : {}) as Row;
      for (const { label } of rowsOf(endpoints)) names.set(String(label), `the board ${board} has it`);
    }
    if (!Object.hasOwn(DIFFERENCES, id)) continue;
    for (const { name, endpoint, where } of rowsOf(config.handles))
      if (where === 'bridge') names.set(String(endpoint), `the handle ${name} of ${id} is to be there`);
  }
  return names;
}

const rowsOf = (list: unknown): readonly Row[] => (Array.isArray(list) ? list.map(Object) : []);

/** The line of the SKU that sets the list. */
const spotOf = ({ set, at }: ResolvedPlugin, list: string): SkuSpot =>
  set.find(({ path }) => path[0] === 'config' && path[1] === list) ?? at;
