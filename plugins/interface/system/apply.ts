/** plugins.apply: the SKU is read again, and what it says is made so, as a change. */

import { type Clock, CoreError, callerName } from '@device-core/plugin-api';
import type { ChangeData, ChangeMaker, ChangeRequest } from '@device-core/plugin-api/inside/services/changes';
import type { PluginManager, SkuChange } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';

/** Time for the answer to leave the device before its own way out is restarted. */
const ANSWER_FIRST_MS = 100;
const KIND = 'plugins.apply';
const IDS: JsonSchema = { type: 'array', items: { type: 'string' } };
const DIFFERENCE: JsonSchema = {
  type: 'object',
  required: ['added', 'removed', 'changed', 'affected', 'stale', 'device'],
  properties: {
    added: IDS,
    removed: IDS,
    changed: IDS,
    affected: { ...IDS, description: 'all that stop, start or restart for it' },
    stale: { ...IDS, description: 'their new version is taken at the next start of the Core' },
    device: { type: 'boolean', description: 'grants, or what else the SKU says of the device, changed' },
  },
};
const RESULT: JsonSchema = {
  type: 'object',
  description: 'with `check` what would change, else the change; its result has what did',
  properties: {
    change: { type: 'string', description: 'id of the change; changes.get tells how far it is' },
    state: { const: 'checked' },
    difference: DIFFERENCE,
  },
};

/** Looks first, then applies. From the look on the file is the truth: a Core that ends meanwhile starts with what the file says. */
export class Applying implements ChangeMaker {
  readonly kind = KIND;
  readonly capability = 'system.plugins';
  readonly steps = [
    { name: 'check', summary: 'checking the SKU' },
    { name: 'apply', summary: 'applying it' },
  ];
  readonly commit = 'check';
  readonly #manager: PluginManager;
  readonly #clock: Clock;
  readonly #begun = new Set<string>();

  constructor(manager: PluginManager, clock: Clock) {
    this.#manager = manager;
    this.#clock = clock;
  }

  readonly perform = async (step: string, data: ChangeData, change: string): Promise<ChangeData> => {
    if (step === 'check') {
      this.#begun.add(change);
      return { planned: await this.#manager.apply({ check: true }) };
    }
    if (this.#begun.delete(change)) {
      await this.#clock.sleep(ANSWER_FIRST_MS);
      return { result: { difference: await this.#manager.apply() } };
    }
    // This plugin was stopped by the very change, or the Core ended: is it as the file says by now?
    const { affected, device } = await this.#manager.apply({ check: true });
    if (affected.length === 0 && !device) return { result: { difference: data.planned } };
    throw new CoreError('CHANGE_UNDONE', { reason: 'it did not last, and the log says why' });
  };

  /** An apply undoes itself. */
  readonly undo = async (): Promise<void> => undefined;
}

export function applyOperation(
  manager: PluginManager,
  changing: (request: ChangeRequest) => Promise<string>,
): Operation<{ readonly check: boolean }, unknown> {
  return {
    name: KIND,
    summary: 'read the SKU again and apply what changed, whole or not at all',
    description:
      'A SKU in which something is newly wrong changes nothing. Where a plugin then fails to start the former set is restored. With `check` the change is only told.',
    capability: 'system.plugins',
    params: { type: 'object', properties: { check: { type: 'boolean', default: false } } },
    result: RESULT,
    cli: {
      progress: 'applying',
      columns: [
        ['added', '{difference.added}'],
        ['removed', '{difference.removed}'],
        ['changed', '{difference.changed}'],
        ['start again', '{difference.affected}'],
        ['new version at the next start of the Core', '{difference.stale}'],
        ['the device itself', '{difference.device}'],
      ],
      hide: ['state'],
      empty: 'nothing has changed',
    },
    rest: {
      method: 'POST',
      path: '/plugins/apply',
      status: 202,
      statusBy: { member: 'state', map: { checked: 200 } },
    },
    errors: ['SKU_INVALID', 'CHANGE_UNDONE', 'UNAVAILABLE', 'BUSY'],
    async run({ check }, { caller }) {
      const planned: SkuChange = await manager.apply({ check: true });
      if (check) return { state: 'checked', difference: planned };
      const summary = 'apply the SKU';
      return { change: await changing({ kind: KIND, subject: 'plugins', summary, data: {}, by: callerName(caller) }) };
    },
  };
}
