import { readServices } from './contracts.ts';
import type { Input } from './input.ts';
import { code, codes, fence, page, table } from './markdown.ts';
import { declaration, docstring, exportedTypes } from './source.ts';

const KERNEL = new Set(['device', 'event-bus', 'grants', 'plugin-manager']);

/** docs/reference/services.md */
export function servicesPage({ manifests }: Input): string {
  const services = readServices();
  const providers = (id: string) =>
    KERNEL.has(id)
      ? 'the kernel'
      : codes(manifests.filter(({ provides }) => provides?.[id] !== undefined).map((manifest) => manifest.id));
  const users = (id: string) =>
    manifests.filter(({ requires, optional }) => requires?.[id] ?? optional?.[id]).map((manifest) => manifest.id);
  return page(
    'Services',
    'A service is a contract between plugins: an interface, an id and a version of the contract. A plugin names what it needs in its manifest (`requires`, `optional`) and its definition, and what it offers under `provides`. While a required service is absent the plugin waits. Each service has its own door, `@device-core/plugin-api/services/<file>`. Its access is `open` (any plugin), `powerful` (it acts on hardware, people or other plugins) or `tree` (plugins of the Core alone). Contracts of the tree lie in `plugin-api/inside/services`, and the packed file has no door to them. The border of guests denies by this table ([ADR 0177](../adr/0177-the-border-denies-by-default.md)).',
    table(
      ['service', 'version', 'access', 'a plugin that claims it', 'provided by', 'used by'],
      services.map(({ id, version, access, does = '' }) => [
        `[${code(id)}](#${id})`,
        version,
        access,
        does,
        providers(id),
        codes(users(id)),
      ]),
    ),
    'Methods return promises, async iterables or disposables and take values that can be cloned, or callbacks, so that a provider can move to a worker or a process. The listings below are the contracts themselves.',
    ...services.flatMap((service) => [
      `## ${service.id}`,
      `${docstring(service.source, `export interface ${service.contract} `)} Reference: ${code(service.variable)}, contract ${service.version}, door ${code(service.file.replace(/\.ts$/, ''))}.`.trimStart(),
      fence(
        'ts',
        exportedTypes(service.source)
          .map((name) => declaration(service.source, name))
          .join('\n\n'),
      ),
    ]),
  );
}
