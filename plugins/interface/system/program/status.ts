import type { PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { cell, defineProgram, duration, EXIT } from '@device-core/plugin-api/program';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';

interface Health {
  readonly status: string;
  readonly components: Readonly<Record<string, ComponentHealth>>;
  readonly bridge?: Readonly<Record<string, unknown>>;
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
  readonly uptimeMs: number;
}

/** `devicectl status` */
export const program = defineProgram({
  async run({ client, out }) {
    const [version, health, plugins, device] = await Promise.all([
      client.get('/version'),
      client.get('/health', { accept: [503] }),
      client.get('/plugins'),
      // Not for everybody, and not of an older Core.
      client.get('/device', { accept: [403, 404] }),
    ]);
    const code = health.status === 200 ? EXIT.ok : EXIT.answered;
    if (out.json) {
      const known = device.status === 200 ? `,"device":${device.text}` : '';
      await out.line(`{"version":${version.text},"health":${health.text},"plugins":${plugins.text}${known}}`);
      return code;
    }
    const { status, components, bridge, warnings = [], uptimeMs } = health.body as unknown as Health;
    const { version: core, api, sku } = version.body as { version?: string; api?: string; sku?: { id?: string } };
    const all = plugins.body.plugins as readonly PluginStatus[];
    const idle = all.filter((plugin) => plugin.state !== 'active');
    await out.line(`core     ${core} (plugin-api ${api}), SKU ${sku?.id ?? 'unknown'}, up ${duration(uptimeMs)}`);
    const { id, serial, problem } = device.status === 200 ? (device.body as Readonly<Record<string, unknown>>) : {};
    const named = [serial && `serial ${cell(serial)}`, id && `id ${cell(id)}`, problem && cell(problem)].filter(
      Boolean,
    );
    if (named.length > 0) await out.line(`device   ${named.join(', ')}`);
    await out.line(`health   ${out.state(status)}`);
    if (bridge) await out.line(`bridge   ${describeBridge(bridge, out.state(String(bridge.link)))}`);
    await out.line(`plugins  ${all.length - idle.length} of ${all.length} active`);
    for (const warning of warnings) await out.line(`warning  ${warning.code}: ${cell(warning.message)}`);
    // A plugin that is not active has a line of its own below.
    const ill = Object.entries(components).filter(
      ([name, component]) => component.status !== 'okay' && !idle.some(({ id }) => id === name),
    );
    if (ill.length > 0) {
      await out.line('');
      const rows = ill.map(([name, { status, code, message }]) => [name, status, code ?? '', message ?? '']);
      await out.table(['COMPONENT', 'STATUS', 'CODE', 'MESSAGE'], rows);
    }
    if (idle.length > 0) {
      await out.line('');
      const rows = idle.map(({ id, state, code, reason }) => [id, state, code ?? '', reason ?? '']);
      await out.table(['PLUGIN', 'STATE', 'CODE', 'REASON'], rows);
    }
    return code;
  },
});

/** First details of the bridge for an operator; `--json` has the rest. */
const BRIDGE_DETAILS = ['reason', 'firmware', 'resets', 'badPercent'];

function describeBridge(bridge: Readonly<Record<string, unknown>>, link: string): string {
  const known = BRIDGE_DETAILS.filter((name) => bridge[name] !== undefined);
  return known.length === 0 ? link : `${link} (${known.map((name) => `${name} ${cell(bridge[name])}`).join(', ')})`;
}
