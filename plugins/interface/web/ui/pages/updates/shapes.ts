/** Answers of the Core about updates. Times are milliseconds since the Unix epoch. */
import type { Answers } from '../../core/answers.ts';
export type State = Status['state'];

export type Image = NonNullable<Status['update']>;

export type Status = Answers['update.status'];

export type Why = Answers['update.why'];
