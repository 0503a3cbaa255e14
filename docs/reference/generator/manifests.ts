import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import type { Input } from './input.ts';
import { code, fence, page, table } from './markdown.ts';
import { schemaTable } from './schema.ts';
import { declaration, readSource } from './source.ts';

/** docs/reference/manifests.md */
export function manifestsPage({ manifests }: Input): string {
  const manifest = readSource('plugin-api/contract/manifest.ts');
  const apps = readSource('plugin-api/services/apps.ts');
  const functions = readSource('plugin-api/services/functions.ts');
  return page(
    'Manifests',
    'Three kinds of YAML files, read and checked before any code of a plugin or an app runs. Unknown members are refused, except those that begin with `x-`. `manifests/schema/` holds JSON Schemas for editors.',
    '## Plugin',
    'One file per plugin, `manifests/plugins/<wing>/<id>.yaml`. A plugin outside the tree keeps its `plugin.yaml` in its own folder.',
    fence('ts', declaration(manifest, 'PluginManifest')),
    fence('yaml', readSource('manifests/plugins/interface/cli.yaml')),
    'The plugins of the tree:',
    table(
      ['plugin', 'version', 'what', 'provides', 'requires', 'optional'],
      manifests.map((one) => [
        code(one.id),
        one.version,
        one.summary,
        ids(one.provides),
        ids(one.requires),
        ids(one.optional),
      ]),
    ),
    '## SKU',
    'What one product consists of. There is no order: the graph of services gives it. `devicectl sku check <sku.yaml>` (or `node kernel/start.js check`) checks one without running code of plugins.',
    fence('ts', `${declaration(manifest, 'SkuPlugin')}\n\n${declaration(manifest, 'SkuManifest')}`),
    fence('yaml', readSource('manifests/skus/simulator.yaml')),
    '### Families',
    'A SKU that `extends` another says only what is different. It has an `id` and a `title` of its own. Its base may extend another one, 16 files at most.',
    fence('yaml', readSource('manifests/skus/speaker.yaml')),
    table(
      ['what', 'how the files of a family are laid over each other'],
      [
        [
          code('plugins'),
          'by id, then by member; a line without a `version` changes what a base lists, and is an error where none does',
        ],
        ['`config`, `budget`, `grants`', 'by member, at any depth'],
        ['lists, `safeMode` too', 'the nearest file has the whole list'],
        [
          code('remove'),
          'the plugin goes with all that the bases say of it, and out of `safeMode`; this file may list it anew',
        ],
        ['`path` of a plugin', 'relative to the file that says it'],
        ['`x-*`', 'of the nearest file'],
      ],
    ),
    'Errors name file and line. They are a circle, a base that is not there, an override or a removal of nothing, and the removal of an `essential` plugin. `devicectl sku flat` writes the result as one file; `devicectl sku explain` says which line set a value.',
    '## App',
    '`app.yaml` in the folder of the app.',
    fence('ts', `${declaration(apps, 'AppManifest')}\n\n${declaration(functions, 'FunctionEntry')}`),
    'Every member, its bounds and its meaning, from `manifests/schema/app.json`. Members of your own begin with `x-`. What is wrong is shown with its line.',
    schemaTable(appSchema()) ?? '',
    'Names of functions match `^[a-z][A-Za-z0-9_]*(\\.[A-Za-z0-9_]+)*$`. Types are `string`, `int`, `number`, `bool`, `object`, `array`, `bytes` (base64) and `any`, each with an optional `?`. An app that crashes is started again after 1, 2, 4, 8, 16 and 30 seconds. After five crashes in ten minutes it is `quarantined` until the operator starts it.',
  );
}

/** The schema of app.yaml with its definitions in their places. */
function appSchema(): JsonSchema {
  const schema = JSON.parse(readSource('manifests/schema/app.json'));
  return JSON.parse(JSON.stringify(schema), (_, value) => {
    const name = /^#\/definitions\/(\w+)$/.exec(value?.$ref ?? '')?.[1];
    return name === undefined ? value : { ...schema.definitions[name], ...value };
  });
}

function ids(services: Readonly<Record<string, string>> = {}): string {
  return Object.keys(services).map(code).join(', ');
}
