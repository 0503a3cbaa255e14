/** Answer of the Core about a change that takes long or can be undone. Times are milliseconds since the Unix epoch. */
import type { Answers } from '../../core/answers.ts';
export type Change = Answers['changes.list']['changes'][number];
export type ChangeState = Change['state'];
