/** Answers of the Core about telemetry. Times are milliseconds since the Unix epoch. */
import type { Answers } from '../../core/answers.ts';
export type Level = Status['levels'][number];

export type Status = Answers['telemetry.status'];

/** The next push, to the byte. */
export type Next = Answers['telemetry.show'];
