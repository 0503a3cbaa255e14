/**
 * A client library for apps, on nothing but Node: `const app = await connectApp()`. It opens sockets, so it stands apart from the index of
 * plugin-api, which does no I/O. Everything it does is documented JSON-RPC and REST; an app in any language can do the same.
 */
import { App } from './app.ts';
import { type AppEnvironment, readEnvironment } from './environment.ts';

export { App, type ConfigChangeNotice, type FunctionCallInfo, type FunctionHandler } from './app.ts';
export { ClientStream } from './client-stream.ts';
export { type AppEnvironment, readEnvironment } from './environment.ts';
export type { RestInit, RestResponse } from './rest.ts';
export { RpcError } from './rpc-error.ts';
export type { CallOptions } from './session.ts';

/**
 * Connects as the app that this process is, and resolves after READY. It connects again, with growing delays, until the
 * app stops. Rejects when the Core did not answer within `timeoutMs` (30,000 if absent).
 */
export async function connectApp(
  environment: AppEnvironment = readEnvironment(),
  { timeoutMs = 30_000 }: { readonly timeoutMs?: number } = {},
): Promise<App> {
  const app = new App(environment);
  const timer = setTimeout(() => app.close(`the Core did not answer within ${timeoutMs} ms`), timeoutMs);
  await app.ready.finally(() => clearTimeout(timer));
  return app;
}
