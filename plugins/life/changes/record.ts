/** Record of a change in `<state>/changes/<id>.json`. */
import { maybe } from '@device-core/plugin-api';
import type {
  ChangeData,
  ChangeInfo,
  ChangeRequest,
  ChangeState,
  ChangeStep,
} from '@device-core/plugin-api/inside/services/changes';
import { CHANGE_STATES, type ChangeMaker } from '@device-core/plugin-api/inside/services/changes';

export const FORM = 1;

export interface ChangeRecord extends ChangeRequest {
  readonly format: typeof FORM;
  readonly id: string;
  readonly capability: string;
  state: ChangeState;
  /** The step that commits is done: from now on it goes on, whatever ends meanwhile. */
  committed: boolean;
  readonly steps: (ChangeStep & { state: ChangeState })[];
  data: ChangeData;
  error?: NonNullable<ChangeInfo['error']>;
  readonly startedAt: number;
  endedAt?: number;
}

export function newRecord(id: string, request: ChangeRequest, maker: ChangeMaker, startedAt: number): ChangeRecord {
  const { kind, subject, summary, data, by } = request;
  const steps = maker.steps.map(({ name, summary: what }) => ({ name, summary: what, state: 'waiting' as const }));
  const head = { format: FORM, id, kind, capability: maker.capability, subject, summary, by } as const;
  return { ...head, state: 'waiting', committed: false, steps, data, startedAt };
}

export const isOver = ({ state }: ChangeRecord) => state === 'done' || state === 'undone' || state === 'failed';

export function viewOf(record: ChangeRecord): ChangeInfo {
  const { id, kind, capability, subject, summary, by, state, steps, data, error, startedAt, endedAt } = record;
  const done = steps.filter((step) => step.state === 'done').length;
  const note = typeof data.note === 'string' && !isOver(record) ? { note: data.note } : {};
  const result = state === 'done' && typeof data.result === 'object' ? { result: data.result as ChangeData } : {};
  return {
    id,
    kind,
    capability,
    subject,
    summary,
    by,
    state,
    startedAt,
    steps: steps.map((step) => ({ ...step })),
    progress: { done, of: steps.length, ...note },
    ...maybe({ error }),
    ...result,
    ...maybe({ endedAt }),
  };
}

/** The record of a file; undefined where it is damaged. */
export function parseRecord(id: string, found: Record<string, unknown>): ChangeRecord | undefined {
  const { kind, capability, subject, summary, by, state, committed, steps, data, startedAt } = found;
  const texts = [kind, capability, subject, summary, by];
  const isState = (one: unknown) => CHANGE_STATES.some((known) => known === one);
  const wholeSteps =
    Array.isArray(steps) && steps.every((step) => typeof step?.name === 'string' && isState(step?.state));
  const whole =
    found.id === id &&
    texts.every((one) => typeof one === 'string') &&
    isState(state) &&
    typeof committed === 'boolean' &&
    wholeSteps &&
    typeof data === 'object' &&
    data !== null &&
    Number.isFinite(startedAt);
  return whole ? (found as unknown as ChangeRecord) : undefined;
}
