import type { Step } from './states.ts';

/** An end of an update that is under way: by an operator, or by a rule. */
export class Stopped extends Error {
  readonly step: Step;

  constructor(reason: string, step: Step = 'stop') {
    super(reason);
    this.step = step;
  }
}
