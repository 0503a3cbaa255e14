import { CoreError } from '@device-core/plugin-api';
import { ACT_WORDS } from '@device-core/plugin-api/inside/core-restart';
import { type Heeding, SLOT_CODES, type SlotAnswer, type SlotCode } from '@device-core/plugin-api/inside/slot-files';

export type SlotRequest =
  | { readonly verb: 'inspect' | 'stage'; readonly folder: string }
  | { readonly verb: 'activate'; readonly slot: 'a' | 'b' }
  | { readonly verb: 'markGood' }
  | { readonly verb: 'markBad'; readonly reason: string }
  | { readonly verb: 'restart' | 'reboot' | 'powerOff'; readonly safeMode: boolean };

/** Writer of the slots. */
export interface Writer {
  readonly kind: 'helper' | 'inline';
  /** Result of a request. Throws the codes that the service `slots` names. */
  ask(request: SlotRequest, heeding?: Heeding): Promise<unknown>;
}

const VERBS = {
  ...ACT_WORDS,
  inspect: 'read the image',
  stage: 'stage the image',
  activate: 'activate the slot',
  markGood: 'mark the slot good',
  markBad: 'mark the slot bad',
} as const;

/** The outcome of an answer, or its refusal as an error of the table. */
export function outcome(request: SlotRequest, answer: SlotAnswer): unknown {
  if ('ok' in answer) return answer.ok;
  const verb = VERBS[request.verb];
  const source = 'folder' in request ? request.folder : verb;
  if (!('refused' in answer) || !SLOT_CODES.includes(answer.refused as SlotCode)) {
    const reason = 'failed' in answer ? answer.failed : 'the answer of the helper is none that is known here';
    throw new CoreError('SLOTS_UNAVAILABLE', { verb, reason });
  }
  const { reason } = answer;
  const params: Readonly<Record<SlotCode, Readonly<Record<string, string | number>>>> = {
    SYSTEM_IMAGE_INVALID: { source, reason },
    SIGNATURE_INVALID: { what: source, reason },
    SLOTS_UNAVAILABLE: { verb, reason },
    BUSY: { what: 'staging', limit: 1 },
    CANCELLED: { what: 'staging', reason },
    STORAGE_FULL: { file: 'the slot', reason },
    STORAGE_READ_ONLY: { file: 'the slot', reason },
    STORAGE_FAILED: { file: 'the slot', reason },
  };
  const code = answer.refused as SlotCode;
  throw new CoreError(code, params[code]);
}
