/** Is a new image as good as what ran before? Only what is on the device is looked at: an update does not fail for want of a network. */
import { readFile, rm } from 'node:fs/promises';
import { type CoreError, type HookCaller, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import { replaceFile } from '@device-core/plugin-api/durable';
import type { PluginManager, PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { UpdateTold } from '@device-core/plugin-api/inside/services/updates';
import type { AppStatus, Apps } from '@device-core/plugin-api/services/apps';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import type { Operations } from '@device-core/plugin-api/services/operations';

/** The device is looked at so often, and what is wrong at the end must have been wrong twice before. */
const LOOK_MS = 2_000;
const LOOKS = 3;
const ANSWER_MS = 10_000;
/** Delays below it are no fault, however short they were before. */
const QUIET_MS = 50;
const CALLER = { kind: 'plugin', id: 'updater' } as const;
const TROUBLED: readonly string[] = ['backoff', 'failed', 'quarantined'];

/**
 * State of the device just before the restart. Delays are the Core's own: load by other programs is no fault of an
 * image (decisions D12a).
 */
export interface Before {
  readonly image: string;
  readonly errors: readonly string[];
  readonly apps: readonly string[];
  readonly p99Ms: number;
}

export interface Look {
  readonly plugins: readonly Pick<PluginStatus, 'id' | 'state' | 'essential' | 'reason'>[];
  readonly components: Readonly<Record<string, Pick<ComponentHealth, 'status' | 'message'>>>;
  readonly apps: readonly (Pick<AppStatus, 'id' | 'state' | 'reason'> & { readonly always: boolean })[];
  readonly p99Ms: number;
}

export interface GateServices {
  readonly manager: PluginManager;
  readonly operations?: Operations | undefined;
  readonly apps?: Apps | undefined;
}

/** The check that said no, and why. */
export interface Fault {
  readonly check: 'essential' | 'component' | 'app' | 'event-loop' | 'judge';
  readonly reason: string;
}

export const textOf = ({ check, reason }: Fault): string => `${check}: ${reason}`;

export async function lookAt({ manager, operations, apps }: GateServices, scope: Scope): Promise<Look> {
  const { clock } = scope;
  const [plugins, { p99Ms: late, ownP99Ms: p99Ms = late }] = await Promise.all([manager.list(), manager.eventLoop()]);
  const health = (await scope
    .within('health', ANSWER_MS, (signal) =>
      operations?.invoke('system.health', {}, { caller: CALLER, signal, deadline: clock.steady() + ANSWER_MS }),
    )
    .catch(() => undefined)) as Pick<Look, 'components'> | undefined; // plugin `system` is not there, or in trouble: it is essential
  const statuses = (await apps?.list()) ?? [];
  const seen = await Promise.all(
    statuses.map(async ({ id, state, reason }) => {
      // An app that starts with its first call may rest.
      const asked = state === 'running' ? undefined : await apps?.manifest(id).catch(() => undefined);
      const always = (asked?.lifecycle?.autostart ?? true) === true;
      return { id, state, always, ...maybe({ reason }) };
    }),
  );
  return { plugins, components: health?.components ?? {}, apps: seen, p99Ms };
}

export function beforeOf({ components, apps, p99Ms }: Look, image: string): Before {
  return {
    image,
    errors: Object.keys(components).filter((name) => components[name]?.status === 'error'),
    apps: apps.filter(({ state }) => state === 'running').map(({ id }) => id),
    p99Ms,
  };
}

/** At any time: what nothing that comes later makes good. */
export function essentialFault({ plugins }: Look): Fault | undefined {
  const failed = plugins.find(({ essential, state }) => essential && (state === 'failed' || state === 'quarantined'));
  return failed && { check: 'essential', reason: `plugin ${failed.id} is ${failed.state}${because(failed.reason)}` };
}

/** At the end. Without `before` (the power went) only what is wrong by itself counts. */
export function faultOf(look: Look, before: Before | undefined): Fault | undefined {
  const essential = essentialFault(look);
  if (essential || !before) return essential;
  for (const [name, { status, message }] of Object.entries(look.components))
    if (status === 'error' && !before.errors.includes(name))
      return { check: 'component', reason: `${name} is in error, which it was not before${because(message)}` };
  for (const id of before.apps) {
    const app = look.apps.find((one) => one.id === id);
    if (!app) return { check: 'app', reason: `app ${id} ran before and is gone` };
    if (TROUBLED.includes(app.state) || (app.state !== 'running' && app.always))
      return { check: 'app', reason: `app ${id} ran before and is ${app.state}${because(app.reason)}` };
  }
  const most = Math.max(QUIET_MS, 2 * before.p99Ms);
  if (look.p99Ms <= most) return undefined;
  const reason = `99 of 100 turns take up to ${Math.round(look.p99Ms)} ms, before ${Math.round(before.p99Ms)}`;
  return { check: 'event-loop', reason };
}

export interface Probation {
  readonly look: () => Promise<Look>;
  readonly before: Before | undefined;
  readonly probationMs: number;
  readonly judge: () => Promise<Fault | undefined>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly elapsed: () => number;
}

/** Resolves with what is wrong; undefined where it is good. */
export async function probation(parts: Probation): Promise<Fault | undefined> {
  const { look, before, probationMs, sleep } = parts;
  const began = parts.elapsed();
  for (let left = probationMs; left > 0; left = probationMs - (parts.elapsed() - began)) {
    await sleep(Math.min(LOOK_MS, left));
    const fault = essentialFault(await look());
    if (fault) return fault;
  }
  let fault = faultOf(await look(), before);
  for (let nth = 1; fault && nth < LOOKS; nth += 1) {
    await sleep(LOOK_MS);
    fault = faultOf(await look(), before);
  }
  return fault ?? parts.judge();
}

/**
 * Verdict of the OEM's judges. A judge that fails, or does not answer, has not said yes; without a judge the verdict
 * is yes.
 */
export async function judged(
  hook: HookCaller<'update.judge'>,
  told: UpdateTold,
  scope: Scope,
  ms: number,
): Promise<Fault | undefined> {
  let answer: CoreError | undefined;
  try {
    answer = await scope.within('update.judge', ms, () => hook.promise(told));
  } catch (error) {
    scope.signal.throwIfAborted();
    const silent = await hook.unanswered();
    const who = silent.length > 0 ? `${silent.join(', ')} did not answer: ` : '';
    return { check: 'judge', reason: `${who}${reasonOf(error)}` };
  }
  return answer && { check: 'judge', reason: answer.message };
}

export async function keepBefore(file: string, before: Before): Promise<void> {
  await replaceFile(file, `${JSON.stringify({ format: 1, ...before })}\n`);
}

/** Reads the record of this image alone: that of another update says nothing. */
export async function readBefore(file: string, image: string): Promise<Before | undefined> {
  try {
    const found = Object(JSON.parse(await readFile(file, 'utf8')));
    const { format, errors, apps, p99Ms } = found;
    const good = format === 1 && found.image === image && Array.isArray(errors) && Array.isArray(apps);
    return good && typeof p99Ms === 'number' ? { image, errors, apps, p99Ms } : undefined;
  } catch {
    return undefined; // the power went before it was written
  }
}

export const forgetBefore = (file: string): Promise<void> => rm(file, { force: true });

const because = (reason: string | undefined): string => (reason === undefined ? '' : `: ${reason}`);
