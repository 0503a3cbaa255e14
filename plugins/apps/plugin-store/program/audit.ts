import { cell, defineProgram, duration } from '@device-core/plugin-api/program';
import type { AuditedPlugin, AuditedRight } from '../audit.ts';

/** `devicectl plugin audit` */
export const program = defineProgram({
  async run({ client, out }) {
    const answer = await client.get('/plugins/audit');
    if (out.json) return out.line(answer.text);
    const plugins = answer.body.plugins as readonly AuditedPlugin[];
    if (plugins.length === 0) return out.line('no plugin from outside runs here');
    for (const [index, plugin] of plugins.entries()) {
      if (index > 0) await out.line('');
      await out.line(headOf(plugin));
      await out.table(['MAY', 'USED', 'LAST'], plugin.rights.map(rowOf), { empty: 'it claims nothing' });
      if (plugin.refused.length === 0) continue;
      const refused = plugin.refused.map(({ capability, count, ts, hint }) => [capability, count, ago(ts), hint]);
      await out.table(['WAS REFUSED', 'TIMES', 'LAST', 'GRANT IT WITH'], refused);
    }
  },
});

function headOf({ id, version, isolation, unit, origin, grantedAt, grantedBy, since }: AuditedPlugin): string {
  const when = grantedAt === undefined ? '' : ` ${ago(grantedAt)}`;
  const who = grantedBy === undefined ? '' : ` by ${cell(grantedBy)}`;
  const how = origin === 'sku' ? 'listed by the SKU' : `granted${when}${who}`;
  const level = unit === undefined ? isolation : `${isolation} (${unit})`;
  return `${id} ${version}, level ${level}, ${how}; counted for ${duration(Math.max(0, Date.now() - since))}`;
}

/** The Core does not see the use of files and of the network. */
function rowOf({
  kind,
  name,
  summary,
  granted,
  count,
  last,
}: AuditedRight): readonly [string, string | number, string] {
  const said = kind === 'capability' ? `${summary} (${name})` : summary;
  const claim = granted ? said : `${said}: not granted`;
  return [claim, count ?? 'not seen', last === undefined ? '' : ago(last)];
}

const ago = (ts: number) => `${duration(Math.max(0, Date.now() - ts))} ago`;
