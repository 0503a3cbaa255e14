/** Files that make a package of a plugin outside the tree. */
import { API_VERSION, maybe } from '@device-core/plugin-api';
import { operationCommands } from '../program/commands.ts';
import { KINDS, type Kind } from './kinds.ts';
import type { PluginNames } from './names.ts';

export interface ProjectOptions {
  readonly kind: Kind;
  readonly author?: string | undefined;
  /** The packed plugin-api, as npm wants to see it in package.json: `file:../device-core-plugin-api-1.0.0.tgz`. */
  readonly api?: string | undefined;
}

/** File name -> text. */
export function projectFiles(names: PluginNames, options: ProjectOptions): Readonly<Record<string, string>> {
  return {
    'package.json': json(packageJson(names, options)),
    'tsconfig.json': json(TSCONFIG),
    'sku.yaml': sku(names, options.kind),
    'README.md': readme(names, options),
    '.gitignore': 'node_modules/\n.device/\n*.tgz\n',
    // An older Node would find no tests and call that a success.
    '.npmrc': 'engine-strict=true\n',
  };
}

const TSCONFIG = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'esnext.iterator'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  },
  include: ['*.ts'],
};

function packageJson({ id }: PluginNames, { kind, author, api }: ProjectOptions): object {
  return {
    name: id,
    version: '1.0.0',
    private: true,
    description: `A Device Core plugin that ${KINDS[kind].summary}`,
    ...maybe({ author }),
    type: 'module',
    engines: { node: '>=24' },
    files: ['plugin.yaml', 'plugin.sig', '*.ts', '!*.test.ts', '!fakes.ts'],
    scripts: { test: 'node --test "*.test.ts"', check: `node -e "import('@device-core/plugin-api/plugin-check')"` },
    peerDependencies: { '@device-core/plugin-api': `^${API_VERSION}` },
    devDependencies: {
      ...maybe({ '@device-core/plugin-api': api }),
      '@types/node': '^24.0.0',
      typescript: '^7.0.0',
    },
  };
}

function sku({ id }: PluginNames, kind: Kind): string {
  const config = kind === 'driver' ? ', config: { i2c: { endpoint: i2c0, address: 0x50 } }' : '';
  const needs = KINDS[kind].needs.map((need) => `  ${need}: ^1.0.0\n`).join('');
  return `# A device to try the plugin on: npm start -- --sku <this file>, in the checkout of the Core.
skuVersion: 1
id: ${id}-device
title: A device to try ${id} on
simulated: true
plugins:
  operations: { version: ^1.0.0, essential: true }
  identity: { version: ^1.0.0, essential: true }
  system: { version: ^1.0.0, essential: true }
  http: { version: ^1.0.0, essential: true }
  cli: ^1.0.0
  # Installing, upgrading and taking back go step by step.
  changes: ^1.0.0
  # This file and the code of the plugin may be edited while the device runs.
  composer: ^1.0.0
  dev-reload: ^1.0.0
${needs}  # In a process of its own, as every plugin from outside; \`isolation: inline\` lets a debugger of the Core see it.
  ${id}: { version: ^1.0.0, path: .${config} }
`;
}

function readme(names: PluginNames, { kind, author }: ProjectOptions): string {
  const { id } = names;
  return `# ${id}

A Device Core plugin that ${KINDS[kind].summary}.${author === undefined ? '' : ` By ${author}.`}

\`plugin.yaml\` says what it provides, needs and may do; what is not declared there is refused. \`index.ts\` wires, the files beside it do the work.

It needs Node 24 or newer and the packed plugin-api of the Core (\`npm run pack:api\` in its checkout):

\`\`\`sh
npm install --save-dev <path of device-core-plugin-api-*.tgz>
npm test
npm run check
\`\`\`

\`npm run check\` is \`devicectl plugin check .\`: manifest, types, tests, start and stop at the three isolation levels, and whether the manifest claims more than the code uses.

To try it on a simulated device, in the checkout of the Core: \`npm start -- --sku <here>/sku.yaml\`.
${kind === 'operation' ? commandOf(names) : ''}`;
}

/** There is nothing to write for it. */
function commandOf({ camel }: PluginNames): string {
  const noun = operationCommands([{ ...NOTHING, name: `${camel}.greet` }])[0]!.path.join(' ');
  return `
Its operation is a command as soon as it runs, with help and completion: \`devicectl ${noun} Ada\`. \`cli\` beside \`rest\` in the operation changes how it looks.
`;
}

const NOTHING = {
  summary: '',
  params: {},
  result: {},
  rest: { method: 'GET', path: '/' },
  views: [{}],
  timeoutMs: 0,
} as const;

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
