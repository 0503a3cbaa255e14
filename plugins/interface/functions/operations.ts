import { type CallContext, type Caller, type Capabilities, CoreError, maybe } from '@device-core/plugin-api';
import { type AppNames, exactly } from '@device-core/plugin-api/operation-kit';
import type {
  FunctionInfo,
  FunctionLeftOut,
  FunctionRequest,
  FunctionSpecification,
  Functions,
} from '@device-core/plugin-api/services/functions';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { MAX_TIMEOUT_MS } from './entry.ts';

const APP: JsonSchema = { type: 'string', maxLength: 128, description: 'Reverse-domain app identifier.' };
const OF_APP: JsonSchema = { type: 'string', maxLength: 128, description: 'App id, or its short name.' };
const NAME: JsonSchema = { type: 'string', maxLength: 128 };
const RANGE: JsonSchema = {
  type: 'string',
  maxLength: 128,
  description: 'semver range; the newest release if absent.',
};
const TYPES: JsonSchema = {
  type: 'object',
  description:
    'Name to type: string, int, number, bool, object, array, bytes (base64) or any; a trailing "?" marks it optional.',
};
const ENTRY_PROPERTIES = {
  name: { type: 'string' },
  version: { type: 'string', description: 'major.minor.patch' },
  inputs: TYPES,
  returns: TYPES,
  permissions: {
    type: 'array',
    items: { type: 'string' },
    description: 'Capabilities that the function needs; its app must hold them.',
  },
  timeout_ms: { type: 'integer', description: '50 to 60,000; 5,000 if absent.' },
  idempotent: { type: 'boolean', description: 'Safe to repeat: repeated once when the app restarts in the middle.' },
  description: { type: 'string' },
  utterances: { type: 'array', items: { type: 'string' } },
  examples: { type: 'array' },
} as const;
const INFO: JsonSchema = {
  type: 'object',
  required: ['app', 'name', 'version', 'id', 'available'],
  properties: {
    ...ENTRY_PROPERTIES,
    app: APP,
    id: { type: 'string', description: '<app>/<name>@<version>' },
    available: { type: 'boolean', description: 'A call can reach the app now.' },
  },
};

const LEFT_OUT: JsonSchema = {
  type: 'object',
  required: ['app', 'name', 'version', 'code', 'reason'],
  properties: {
    app: APP,
    name: { type: 'string' },
    version: { type: 'string' },
    code: { type: 'string', description: 'Code of the error table.' },
    reason: { type: 'string' },
    capability: { type: 'string', description: 'The capability that its app does not hold, where that is the reason.' },
    hint: { type: 'string', description: 'The manifest line that would grant it.' },
    utterances: { type: 'array', items: { type: 'string' } },
  },
};

interface Selection {
  readonly app?: string;
  readonly name?: string;
  readonly version?: string;
}

interface FunctionList {
  readonly functions: readonly FunctionInfo[];
  readonly leftOut: readonly FunctionLeftOut[];
}

interface CallParams {
  readonly app?: string;
  readonly name: string;
  readonly version?: string;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly idempotencyKey?: string;
}

export function functionOperations(
  functions: Functions,
  capabilities: Capabilities,
  names: AppNames,
): readonly Operation<never, unknown>[] {
  const register: Operation<FunctionSpecification> = {
    name: 'functions.register',
    summary: 'Register functions of the calling app',
    description: 'All or nothing. The same specification again is fine; another one under the same version is not.',
    params: exactly(
      {
        app: APP,
        functions: {
          type: 'array',
          minItems: 1,
          maxItems: 256,
          items: { type: 'object', properties: ENTRY_PROPERTIES },
        },
      },
      ['app', 'functions'],
    ),
    result: {
      type: 'object',
      required: ['app', 'functions'],
      properties: {
        app: APP,
        functions: {
          type: 'array',
          items: exactly({ name: NAME, version: { type: 'string' }, id: { type: 'string' } }, [
            'name',
            'version',
            'id',
          ]),
        },
      },
    },
    access: 'Apps only, each for itself.',
    rest: { method: 'POST', path: '/FunctionRegistry-registerFunction', status: 201 },
    errors: ['FUNCTION_INVALID', 'VERSION_CONFLICT', 'CALLER_DENIED', 'CAPABILITY_DENIED', 'CAPABILITY_UNKNOWN'],
    async run(specification, { caller, session }) {
      if (caller.kind !== 'app') {
        throw new CoreError('CALLER_DENIED', {
          verb: 'register functions',
          reason: 'only an app registers functions, its own',
        });
      }
      if (specification.app !== caller.id) {
        throw new CoreError('CALLER_DENIED', {
          verb: `register functions of ${specification.app}`,
          reason: `the caller is ${caller.id}`,
        });
      }
      const registered = await functions.register(specification, session?.id);
      return { app: caller.id, functions: registered.map(({ name, version, id }) => ({ name, version, id })) };
    },
  };
  const unregister: Operation<Selection> = {
    name: 'functions.unregister',
    summary: 'Remove functions: all of the app, all versions of a name, or one version',
    params: exactly(
      { app: OF_APP, name: NAME, version: { type: 'string', description: 'major.minor.patch; needs a name.' } },
      [],
    ),
    result: exactly({ removed: { type: 'integer' } }, ['removed']),
    access: 'An app may remove its own; for others it needs `system.apps`.',
    rest: { method: 'POST', path: '/functions/unregister' },
    errors: ['CALLER_DENIED', 'PARAMS_INVALID'],
    async run({ app: given, name, version }, { caller }) {
      const app = given === undefined ? undefined : await names.idOf(given);
      if (version !== undefined && name === undefined) {
        throw new CoreError('PARAMS_INVALID', { where: 'version', reason: 'it needs a name beside it' });
      }
      return { removed: await functions.unregister(ownerOf(caller, app, capabilities), name, version) };
    },
  };
  const list: Operation<Selection, FunctionList> = {
    name: 'functions.list',
    summary: 'List registered functions, newest version first',
    description:
      '`leftOut` names the functions that apps offer and that cannot be called, with the reason and the manifest line that would help.',
    params: exactly({ app: OF_APP, name: NAME }, []),
    result: exactly({ functions: { type: 'array', items: INFO }, leftOut: { type: 'array', items: LEFT_OUT } }, [
      'functions',
      'leftOut',
    ]),
    cli: {
      fixed: ['name'],
      columns: [['FUNCTION', '{name}'], 'version', 'app', 'available', 'inputs', 'returns'],
      empty: 'no functions are registered',
    },
    rest: { method: 'GET', path: '/functions' },
    errors: [],
    async run({ app: given, name }) {
      const app = given === undefined ? undefined : await names.idOf(given);
      const filter = { ...maybe({ app, name }) };
      const leftOut = await functions.leftOut(app === undefined ? {} : { app });
      return {
        functions: await functions.list(filter),
        leftOut: leftOut.filter((one) => name === undefined || one.name === name),
      };
    },
  };
  const describe: Operation<CallParams, FunctionInfo> = {
    name: 'functions.describe',
    summary: 'Describe one function',
    params: exactly({ name: NAME, app: OF_APP, version: RANGE }, ['name']),
    result: INFO,
    rest: { method: 'GET', path: '/functions/:name' },
    errors: ['FUNCTION_NOT_FOUND', 'PARAMS_INVALID'],
    run: async ({ name, app, ...options }) =>
      functions.describe(name, { ...options, ...(app !== undefined && { app: await names.idOf(app) }) }),
  };
  const call: Operation<CallParams, { readonly result: Readonly<Record<string, unknown>> }> = {
    name: 'functions.call',
    summary: 'Call a function of an app',
    description:
      'The caller holds `functions.call:<app>`; an app may always call its own. Inputs and result are checked against the specification.',
    params: exactly(
      {
        name: NAME,
        app: {
          ...OF_APP,
          description: 'App id, or its short name; needed where several apps have a function of this name.',
        },
        version: RANGE,
        inputs: { type: 'object' },
        idempotencyKey: { type: 'string', maxLength: 128, description: 'Handed on to the app.' },
      },
      ['name'],
    ),
    result: exactly({ result: { type: 'object' } }, ['result']),
    access: 'It needs `functions.call:<app>`; an app may always call its own.',
    rest: { method: 'POST', path: '/functions/call' },
    errors: [
      'FUNCTION_NOT_FOUND',
      'PARAMS_INVALID',
      'CAPABILITY_DENIED',
      'RESULT_INVALID',
      'APP_NOT_RUNNING',
      'APP_ERROR',
      'TIMEOUT',
      'CANCELLED',
      'BUSY',
      'BODY_TOO_LARGE',
    ],
    // The function's own limit is what ends a call; the gate's is only above it.
    timeoutMs: MAX_TIMEOUT_MS + 1_000,
    async run({ app, name, version, inputs, idempotencyKey }, call: CallContext) {
      const request: { -readonly [K in keyof FunctionRequest]: FunctionRequest[K] } = {
        name,
        caller: call.caller,
        signal: call.signal,
        deadline: call.deadline,
        trace: call.trace,
      };
      if (app !== undefined) request.app = await names.idOf(app);
      if (version !== undefined) request.version = version;
      if (inputs !== undefined) request.inputs = inputs;
      if (idempotencyKey !== undefined) request.idempotencyKey = idempotencyKey;
      return { result: await functions.call(request) };
    },
  };
  return [register, unregister, list, describe, call] as readonly Operation<never, unknown>[];
}

function ownerOf(caller: Caller, app: string | undefined, capabilities: Capabilities): string {
  if (caller.kind === 'app') {
    if (app === undefined || app === caller.id) return caller.id;
    throw new CoreError('CALLER_DENIED', { verb: `remove functions of ${app}`, reason: `the caller is ${caller.id}` });
  }
  capabilities.require(caller, 'system.apps');
  if (app !== undefined) return app;
  throw new CoreError('PARAMS_INVALID', { where: 'app', reason: 'it is missing' });
}
