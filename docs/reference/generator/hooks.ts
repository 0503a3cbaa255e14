import { HOOKS } from '@device-core/plugin-api';
import type { Input } from './input.ts';
import { code, codes, page, sentence, table } from './markdown.ts';
import { docstring, readSource } from './source.ts';

/** docs/reference/hooks.md */
export function hooksPage({ manifests }: Input): string {
  const source = readSource('plugin-api/contract/hooks.ts');
  const rows = Object.entries(HOOKS).map(([id, hook]) => [
    code(id),
    hook.owner,
    hook.kind,
    codes(hook.args),
    sentence(docstring(source, `'${id}':`).replace(/^[a-z-]+: /, '')),
    codes(manifests.filter(({ taps }) => taps?.includes(id)).map((manifest) => manifest.id)),
  ]);
  return page(
    'Hooks',
    'A hook is a place where one plugin, its owner, lets others take part. A plugin declares the hooks that it taps in its manifest (`taps`) and adds a function with `host.tap(id, fn)`; the tap leaves with the plugin. Only the owner can call a hook. There are no others: adding one is a change of plugin-api.',
    table(['hook', 'owner', 'kind', 'arguments', 'when, and what a tap may do', 'tapped by'], rows),
    'The kinds are those of tapable. `AsyncSeriesHook` and `AsyncParallelHook` await every tap. In an `AsyncSeriesBailHook` the first tap that returns a value ends the round. In a waterfall each tap gets what the one before returned. Lower stages run first: `host.tap(id, fn, { stage: -10 })`. A tap that throws ends the call with `HOOK_FAILED`, which names the plugin.',
  );
}
