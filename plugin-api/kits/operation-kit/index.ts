/** For plugins that offer operations and streams: schemas, bytes in JSON, bounds for each caller, listeners, streams for slow readers. */
export { AppNames } from './app-names.ts';
export { base64Schema, bytesOf, textOf } from './bytes.ts';
export { Listeners } from './listeners.ts';
export { type Outflow, outflow, outflowOfLines } from './outflow.ts';
export { PerCaller } from './per-caller.ts';
export { ACT_ABOUT, ACT_NAMES, ACT_SUBJECT, PROMPT_PARAMS, PROMPT_RIGHTS } from './question-schema.ts';
export { Queue } from './queue.ts';
export { exactly } from './schemas.ts';
export { STATE_ERRORS, STORAGE_ERRORS } from './write-errors.ts';
