import { CAPABILITIES } from '@device-core/plugin-api';
import type { Input } from './input.ts';
import { code, page, table } from './markdown.ts';

/** docs/reference/capabilities.md */
export function capabilitiesPage({ operations, streams }: Input): string {
  const gated = [...operations, ...streams].filter(({ capability }) => capability !== undefined);
  const needs = (id: string) =>
    gated.filter(({ capability }) => capability!.split(':')[0] === id).map(({ name }) => code(name));
  return page(
    'Capabilities',
    'What a caller may do. An app asks for capabilities in its `app.yaml`; the device decides. The operator holds all of them, an app only what it was granted.',
    [
      'The form is `root[.area][:scope]`, for example `bridges.spi:flash`.',
      '',
      '- Holding a parent implies its children: `bridges` gives `bridges.spi`.',
      '- An unscoped grant implies every scope: `bridges.spi` gives `bridges.spi:flash`.',
      '- A scoped grant gives that scope alone.',
      '- `sensors.<name>` is governed by `sensors`, with the class of a scoped grant.',
      '- An id that is not in this table is refused when the manifest is read (`CAPABILITY_UNKNOWN`), with the nearest known one.',
    ].join('\n'),
    'The class says who may be granted it. `normal` is granted when the app asks for it. `sensitive` needs a line under `grants` in the SKU, or the consent of the operator. `oem` is granted only by a line in the SKU.',
    table(
      ['capability', 'gives', 'class', 'scope', 'class with scope', 'asked for by'],
      CAPABILITIES.map((one) => [
        code(one.id),
        one.summary,
        one.class,
        one.scope?.names ?? '',
        one.scope?.class ?? '',
        needs(one.id).join(', '),
      ]),
    ),
    'A refusal (`CAPABILITY_DENIED`) names the capability and the line that would grant it. `devicectl why` lists the last ones.',
  );
}
