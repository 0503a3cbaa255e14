/** plugins.list, plugins.pages, plugins.restart, plugins.enable, plugins.disable, plugins.release. */
import { CoreError, type Logger, PLUGIN_STATES, type PluginPage, reasonOf, type Scope } from '@device-core/plugin-api';
import type { PluginManager, PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';

/** Time for the answer to leave the device before its own way out is restarted. */
const ANSWER_FIRST_MS = 100;
/** Services without which an answer cannot reach its caller. */
const WAYS_OUT: readonly string[] = ['http-server', 'app-sockets', 'operations'];

const STRINGS: JsonSchema = { type: 'object', additionalProperties: { type: 'string' } };
const PLUGIN: JsonSchema = {
  type: 'object',
  required: ['id', 'version', 'summary', 'state', 'isolation', 'essential', 'since', 'generation'],
  properties: {
    id: { type: 'string' },
    version: { type: 'string' },
    summary: { type: 'string' },
    state: { enum: [...PLUGIN_STATES] },
    isolation: { enum: ['inline', 'worker', 'process'] },
    essential: { type: 'boolean' },
    reason: { type: 'string', description: 'why it waits or failed' },
    code: { type: 'string' },
    since: { type: 'integer', description: 'milliseconds since the Unix epoch' },
    startMs: { type: 'number' },
    generation: { type: 'integer' },
    restarts: { type: 'integer', description: 'how often it was started again after a failure' },
    nextStartAt: { type: 'integer', description: 'it failed and starts again then; milliseconds since the Unix epoch' },
    lastError: {
      type: 'object',
      required: ['code', 'message', 'at'],
      properties: { code: { type: 'string' }, message: { type: 'string' }, at: { type: 'integer' } },
    },
    directory: { type: 'string', description: 'folder of its module' },
    provides: STRINGS,
    requires: STRINGS,
    holds: { type: 'array', items: { type: 'string' }, description: 'labels of what it holds' },
    programs: {
      type: 'array',
      description: 'its commands of devicectl',
      items: {
        type: 'object',
        required: ['command', 'summary', 'main'],
        properties: {
          command: { type: 'string' },
          aliases: { type: 'array', items: { type: 'string' } },
          summary: { type: 'string' },
          main: { type: 'string', description: 'absolute path of the module' },
          needsCore: { type: 'boolean' },
        },
      },
    },
    usage: { type: 'object', description: 'what it takes of the device, as plugins.usage tells it' },
  },
};

type Verb = 'restart' | 'enable' | 'disable' | 'release';
interface Answer {
  readonly plugin: PluginStatus;
  /** It happens right after this answer. */
  readonly deferred?: true;
}

export function pluginOperations(self: string, manager: PluginManager, scope: Scope, log: Logger) {
  const act = async (verb: Verb, id: string): Promise<Answer> => {
    const list = await manager.list();
    const plugin = list.find((one) => one.id === id);
    if (!plugin) throw new CoreError('PLUGIN_NOT_FOUND', { plugin: id });
    const affected = dependents(list, plugin);
    if (verb === 'enable' || verb === 'release' || !carriesAnswers(affected))
      return { plugin: await manager[verb](id) };
    if (verb === 'disable' && locksOut(list, affected)) {
      const reason = `${affected.map((one) => one.id).join(', ')} would stop, and the device could not be administered any more`;
      throw new CoreError('CALLER_DENIED', { verb: `disable plugin ${id}`, reason });
    }
    afterAnswer(`${verb} ${id}`, () => manager[verb](id));
    return { plugin, deferred: true };
  };
  /** One that does not run carries nothing. */
  const carriesAnswers = (affected: readonly PluginStatus[]): boolean =>
    affected.some(
      (one) => one.state === 'active' && (one.id === self || WAYS_OUT.some((service) => service in one.provides)),
    );
  /** Would nothing be left over which somebody could enable it again? */
  const locksOut = (list: readonly PluginStatus[], affected: readonly PluginStatus[]): boolean => {
    const rest = list.filter((one) => one.state === 'active' && !affected.includes(one));
    const left = (service: string) => rest.some(({ provides }) => service in provides);
    const front = list.some(({ provides }) => 'http-server' in provides) ? 'http-server' : 'app-sockets';
    return affected.some(({ id }) => id === self) || !left('operations') || !left(front);
  };
  const afterAnswer = (what: string, act: () => Promise<unknown>): void => {
    scope.timeout(what, ANSWER_FIRST_MS, () => {
      // Not awaited: it stops the plugin that this timer belongs to.
      act().catch((thrown: unknown) => log.warn({ reason: reasonOf(thrown) }, `${what} failed`));
    });
  };
  const change = (verb: Verb, summary: string): Operation<{ readonly id: string }, Answer> => ({
    name: `plugins.${verb}`,
    summary,
    capability: 'system.plugins',
    params: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
    result: {
      type: 'object',
      required: ['plugin'],
      properties: { plugin: PLUGIN, deferred: { const: true, description: 'it happens right after this answer' } },
    },
    cli: {
      progress: `waiting for its ${verb}`,
      done: [
        `{deferred:if}{plugin.id} ${verb === 'restart' ? 'restarts' : 'changes'} now`,
        '{plugin.id} is {plugin.state}: {plugin.reason}',
        '{plugin.id} is {plugin.state}',
      ],
    },
    rest: { method: 'POST', path: `/plugins/:id/${verb}` },
    errors: verb === 'disable' ? ['PLUGIN_NOT_FOUND', 'CALLER_DENIED'] : ['PLUGIN_NOT_FOUND'],
    run: ({ id }) => act(verb, id),
  });
  const list: Operation<never, { readonly plugins: readonly PluginStatus[] }> = {
    name: 'plugins.list',
    summary: 'every plugin of the SKU and its state',
    params: { type: 'object' },
    result: { type: 'object', required: ['plugins'], properties: { plugins: { type: 'array', items: PLUGIN } } },
    cli: {
      columns: [
        ['PLUGIN', '{id}'],
        'version',
        'state',
        ['RUNS', '{isolation}'],
        ['START', '{startMs:ms}'],
        ['STARTS', '{generation}'],
        ['REMARK', '{reason|summary}'],
      ],
    },
    rest: { method: 'GET', path: '/plugins' },
    errors: [],
    run: async () => ({ plugins: (await manager.list()).map(({ pages: _, ...plugin }) => plugin) }),
  };
  const pages: Operation<never, { readonly pages: readonly (PluginPage & { readonly plugin: string })[] }> = {
    name: 'plugins.pages',
    summary: 'pages that the plugins which run bring, as data',
    description:
      'The page of the device draws them: texts as texts, and what they ask is asked in the name of the reader.',
    params: { type: 'object' },
    result: {
      type: 'object',
      required: ['pages'],
      properties: {
        pages: {
          type: 'array',
          items: {
            type: 'object',
            required: ['plugin', 'id', 'title', 'panels'],
            properties: {
              plugin: { type: 'string' },
              id: { type: 'string' },
              title: { description: 'one text, or one for each language' },
              lead: {},
              panels: { type: 'array', items: { type: 'object', description: 'as the manifest of the plugin has it' } },
            },
          },
        },
      },
    },
    cli: { hide: true },
    rest: { method: 'GET', path: '/plugins/pages' },
    errors: [],
    run: async () => ({
      pages: (await manager.list())
        .filter(({ state }) => state === 'active')
        .flatMap(({ id, pages: own = [] }) => own.map((page) => ({ plugin: id, ...page }))),
    }),
  };
  return [
    list,
    pages,
    change('restart', 'stop a plugin and its dependents, and start them again'),
    change('enable', 'start a plugin that was disabled'),
    change('release', 'start a plugin that failed or is in quarantine'),
    change('disable', 'stop a plugin and its dependents until the next start of the Core'),
  ];
}

/** The plugin and all that stop with it. */
function dependents(list: readonly PluginStatus[], plugin: PluginStatus): readonly PluginStatus[] {
  const affected = new Set([plugin]);
  for (const one of affected)
    for (const other of list)
      if (Object.keys(one.provides).some((service) => service in other.requires)) affected.add(other);
  return [...affected];
}
