/** plugins.list, plugins.restart, plugins.enable, plugins.disable. */
import {
  CoreError,
  type JsonSchema,
  type Logger,
  type Operation,
  PLUGIN_STATES,
  type PluginManager,
  type PluginStatus,
  reasonOf,
  type Scope,
} from '@device-core/plugin-api';

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
    provides: STRINGS,
    requires: STRINGS,
    holds: { type: 'array', items: { type: 'string' }, description: 'labels of what it holds' },
  },
};

type Verb = 'restart' | 'enable' | 'disable';
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
    const carries = affected.some((one) => one.id === self || WAYS_OUT.some((service) => service in one.provides));
    if (verb === 'enable' || !carries) return { plugin: await manager[verb](id) };
    if (verb === 'disable') {
      const reason = `${affected.map((one) => one.id).join(', ')} would stop, and the device could not be administered any more`;
      throw new CoreError('CALLER_DENIED', { verb: `disable plugin ${id}`, reason });
    }
    scope.timeout(`restart ${id}`, ANSWER_FIRST_MS, () => {
      // Not awaited: it stops the plugin that this timer belongs to.
      manager
        .restart(id)
        .catch((thrown: unknown) => log.warn({ plugin: id, reason: reasonOf(thrown) }, 'restart failed'));
    });
    return { plugin, deferred: true };
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
    rest: { method: 'POST', path: `/plugins/:id/${verb}` },
    errors: verb === 'disable' ? ['PLUGIN_NOT_FOUND', 'CALLER_DENIED'] : ['PLUGIN_NOT_FOUND'],
    run: ({ id }) => act(verb, id),
  });
  const list: Operation<never, { readonly plugins: readonly PluginStatus[] }> = {
    name: 'plugins.list',
    summary: 'every plugin of the SKU and its state',
    params: { type: 'object' },
    result: { type: 'object', required: ['plugins'], properties: { plugins: { type: 'array', items: PLUGIN } } },
    rest: { method: 'GET', path: '/plugins' },
    errors: [],
    run: async () => ({ plugins: await manager.list() }),
  };
  return [
    list,
    change('restart', 'stop a plugin and its dependents, and start them again'),
    change('enable', 'start a plugin that was disabled'),
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
