/** For plugins that offer operations and streams: schemas, bytes in JSON, bounds for each caller, listeners, streams for slow readers. */
export * from './bytes.ts';
export * from './listeners.ts';
export * from './outflow.ts';
export * from './per-caller.ts';
export * from './schemas.ts';
