/** apps.diff: what a version asks for beyond what there is, before anything of it is installed. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { CoreError, maybe, reasonOf } from '@device-core/plugin-api';
import { type Decision, type Difference, decide, difference, grantsOf } from '@device-core/plugin-api/inside/consent';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { AppContext } from './app-context.ts';
import type { Supervisor } from './supervisor.ts';

const LIMITS = { files: 100_000, bytes: 1 << 30 };

const UPLOAD = 'upload:';

const TEXT: JsonSchema = { type: 'string' };
const PARAMS: JsonSchema = { type: 'object', additionalProperties: true };
const list = (required: readonly string[], properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'array',
  items: { type: 'object', required, properties },
});
const BY: Readonly<Record<string, JsonSchema>> = {
  from: { enum: ['sku', 'consent', 'policy', 'catalogue'] },
  line: TEXT,
};
/** Decision about a capability that an app asks for. */
export const ASK_REQUIRED = ['capability', 'summary', 'reason', 'optional', 'verdict', 'by'];
export const ASK: Readonly<Record<string, JsonSchema>> = {
  capability: TEXT,
  params: PARAMS,
  class: { enum: ['normal', 'sensitive', 'oem'] },
  summary: { ...TEXT, description: 'what it allows, a sentence' },
  reason: { ...TEXT, description: "in the app's own words; to be shown as such" },
  optional: { type: 'boolean', description: 'the app is of use without it' },
  widens: { ...TEXT, description: 'a grant that it has now and that this one contains' },
  sole: { type: 'boolean', description: 'the only host that the app may reach' },
  verdict: { enum: ['granted', 'denied', 'ask'] },
  by: { type: 'object', required: Object.keys(BY), properties: BY },
  hint: { ...TEXT, description: 'what would grant it' },
};
const RESULT: JsonSchema = {
  type: 'object',
  required: ['app', 'version', 'title', 'asks', 'dropped', 'budgets', 'functions'],
  properties: {
    app: TEXT,
    version: TEXT,
    title: { ...TEXT, description: 'as it calls itself' },
    description: { ...TEXT, description: 'what it says of itself' },
    former: { ...TEXT, description: 'the version that is there; absent where none is' },
    asks: {
      ...list(ASK_REQUIRED, ASK),
      description: 'capabilities that no grant of the version that is there implies, ports included',
    },
    dropped: list(['capability'], { capability: TEXT, ports: { type: 'array', items: { type: 'integer' } } }),
    budgets: list(['budget'], { budget: TEXT, from: { type: 'number' }, to: { type: 'number' } }),
    functions: list(['name', 'kind', 'utterances'], {
      name: TEXT,
      kind: { enum: ['added', 'changed', 'removed'] },
      utterances: { type: 'array', items: TEXT },
    }),
  },
};

/** `title`, `description` and each `reason` are words of the app. */
export interface AppDifference extends Omit<Difference, 'asked' | 'told'> {
  readonly app: string;
  readonly version: string;
  readonly title: string;
  readonly description?: string;
  readonly former?: string;
  readonly asks: readonly Decision[];
}

export function diffOperation(
  supervisor: Supervisor,
  context: AppContext,
): Operation<{ readonly source: string }, AppDifference> {
  return {
    name: 'apps.diff',
    summary: 'Rights that a package or a folder asks for beyond the installed version',
    description:
      'Nothing is installed and no question is put. Capabilities with the rule that decides, budgets, functions.',
    params: exactly({
      source: {
        ...TEXT,
        minLength: 1,
        maxLength: 4096,
        description: 'Absolute path on the device: a .app file or a folder. Or `upload:<id>`.',
      },
    }),
    result: RESULT,
    capability: 'system.apps',
    rest: { method: 'POST', path: '/apps/diff' },
    cli: { hide: true },
    errors: ['PACKAGE_INVALID', 'MANIFEST_INVALID', 'CAPABILITY_UNKNOWN'],
    timeoutMs: 120_000,
    async run({ source }, { signal }) {
      const upload = source.startsWith(UPLOAD) ? source.slice(UPLOAD.length) : undefined;
      const place = upload === undefined ? source : await context.stored.uploaded(upload);
      const next = await manifestOf(place, supervisor, signal);
      const former = supervisor.all().find(({ manifest }) => manifest.id === next.id)?.manifest;
      await context.consents.look(next.id);
      const rules = { skuGrants: context.device.grants, ...context.consents.rulesFor(next.id) };
      const held = former ? grantsOf(decide(former, rules)) : [];
      const { asked, told, ...more } = difference(former, next, held);
      const open = [...asked, ...told].map(({ capability: id, params, reason, optional }) => ({
        id,
        reason,
        optional,
        ...(params?.ports ? { ports: params.ports as readonly number[] } : {}),
      }));
      return {
        app: next.id,
        version: next.version,
        title: next.title,
        ...maybe({ description: next.description }),
        ...(former ? { former: former.version } : {}),
        asks: decide({ id: next.id, capabilities: open }, { ...rules, held, whole: next.capabilities }),
        ...more,
      };
    },
  };
}

async function manifestOf(source: string, supervisor: Supervisor, signal: AbortSignal): Promise<AppManifest> {
  const refuse = (reason: string) => new CoreError('PACKAGE_INVALID', { source, reason });
  if (!isAbsolute(source)) throw refuse('it must be an absolute path on the device');
  const found = await stat(source).catch((thrown) => {
    throw refuse(`it cannot be read: ${reasonOf(thrown)}`);
  });
  if (found.isDirectory()) return supervisor.inspect(source);
  if (!found.isFile()) throw refuse('it is neither a file nor a folder');
  const folder = await mkdtemp(join(tmpdir(), 'app-diff-'));
  try {
    const { unpack } = await import('@device-core/plugin-api/inside/packages');
    await unpack(source, folder, LIMITS, signal);
    return await supervisor.inspect(folder);
  } catch (thrown) {
    // The folder is nothing that its author knows.
    if (!(thrown instanceof CoreError) || thrown.code !== 'MANIFEST_INVALID') throw thrown;
    const file = String(thrown.details.file).replace(join(folder, '/'), '');
    throw new CoreError('MANIFEST_INVALID', { ...thrown.details, file });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
