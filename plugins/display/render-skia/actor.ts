/** Present act of the character, for all surfaces that show it. */

import { type CharacterSpec, Mouth } from '@device-core/plugin-api/scene';
import type { CharacterPose } from '@device-core/plugin-api/services/renderer';

export class Actor {
  figure: CharacterSpec | undefined;
  pose: CharacterPose = { state: 'idle', expression: 'neutral' };
  /** Former act, and the monotonic time of its end. */
  before: Pick<CharacterPose, 'state' | 'expression'> | undefined;
  since = 0;
  readonly mouth = new Mouth();

  /** False where nothing is different. */
  act(pose: CharacterPose, figure: CharacterSpec | undefined, now: number): boolean {
    const { state, expression } = this.pose;
    const other = pose.state !== state || pose.expression !== expression;
    if (!other && figure === this.figure && String(pose.gaze) === String(this.pose.gaze)) return false;
    if (other) {
      this.before = { state, expression };
      this.since = now;
    }
    this.pose = pose;
    this.figure = figure;
    return true;
  }
}
