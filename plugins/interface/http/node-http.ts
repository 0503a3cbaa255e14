/**
 * node:http without its ESM facade: an `import` of it reads every export, WebSocket and its relations among them, and so loads the whole of
 * undici (18 ms of CPU at each start), which the Core does not use.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');
