import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import type { Input } from './input.ts';
import { code, page, table } from './markdown.ts';
import { schemaTable } from './schema.ts';

/** docs/reference/configuration.md */
export function configurationPage({ manifests }: Input): string {
  const sections = manifests.flatMap(({ id, summary, config }) => {
    const members = config ? schemaTable(config as JsonSchema, { required: false }) : undefined;
    return members ? [`### ${id}`, `${summary}.`, members] : [];
  });
  const without = manifests.filter(({ config }) => !(config && schemaTable(config as JsonSchema))).map(({ id }) => id);
  return page(
    'Configuration',
    '## Settings',
    'Settings of the device and of apps, read and written while it runs: `GET` and `PUT /config/:key`, `config.get` and `config.set`, `devicectl config`. A value comes from the highest layer that has one:',
    table(
      ['layer', 'file', 'written by'],
      [
        ['`app`', '`<var>/apps/<id>/config.yaml`', 'the app, or the operator'],
        ['`device`', '`<var>/*.yaml`', 'the operator'],
        ['`default`', '`<etc>/*.yaml`', 'the OEM; may lock keys'],
      ],
    ),
    [
      '- An app sees its own overrides over the device state over the defaults. The operator sees the lower two, or with the parameter `app` the view of that app. Whose view it is follows from the caller, never from the key.',
      '- A key matches `^[A-Za-z0-9][A-Za-z0-9_-]*(\\.[A-Za-z0-9][A-Za-z0-9_-]*)*$`, at most 128 characters and 8 segments. A value is any JSON of at most 64 KiB and depth 8; `null` unsets.',
      '- `ifRevision` makes a write depend on what was read (409 `CONFIG_CONFLICT`).',
      '- A write is durable when it is answered. Files edited by hand are picked up while the Core runs. One that does not validate is refused with its line, and the last good one stays.',
    ].join('\n'),
    '## Paths',
    table(
      ['name', 'installed', 'development'],
      [
        ['`<etc>`', '`/etc/<service>`', '`<root>/etc`'],
        ['`<var>`', '`/var/lib/<service>`', '`<root>/var`'],
        ['`<run>`', '`/run/<service>`', '`<root>/run`'],
      ],
    ),
    '`<service>` is `device` unless the SKU says otherwise. `<root>` is `.device` in the checkout, or what `--root` names.',
    '## Plugins',
    'The section `config` of a plugin in the SKU. Values are checked against the schema in its manifest before the plugin starts; defaults are filled in.',
    ...sections,
    without.length > 0 ? `Without configuration: ${without.map(code).join(', ')}.` : '',
  );
}
