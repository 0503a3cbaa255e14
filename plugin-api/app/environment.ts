/** Address of the Core for an app: environment variables and one file, set by the starter of the app. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface AppEnvironment {
  /** DEVICE_RPC_SOCKET: path of the app's own JSON-RPC socket. */
  readonly rpcSocket: string;
  /** DEVICE_HTTP_SOCKET: path of the shared REST socket. */
  readonly httpSocket?: string;
  /** DEVICE_URL: REST over TCP. */
  readonly url?: string;
  /** DEVICE_APP_ID */
  readonly appId?: string;
  /** DEVICE_DATA_DIR: where the app may keep files. */
  readonly dataDir?: string;
  /** From the file `$CREDENTIALS_DIRECTORY/token`. */
  readonly token?: string;
}

/** Throws where DEVICE_RPC_SOCKET is not set: the process was not started as an app. */
export function readEnvironment(env: NodeJS.ProcessEnv = process.env): AppEnvironment {
  const rpcSocket = env.DEVICE_RPC_SOCKET;
  if (!rpcSocket) throw new Error('cannot find the Core: DEVICE_RPC_SOCKET is not set');
  const found: Record<string, string | undefined> = {
    httpSocket: env.DEVICE_HTTP_SOCKET,
    url: env.DEVICE_URL,
    appId: env.DEVICE_APP_ID,
    dataDir: env.DEVICE_DATA_DIR,
    token: env.CREDENTIALS_DIRECTORY && readToken(join(env.CREDENTIALS_DIRECTORY, 'token')),
  };
  const set = Object.entries(found).filter(([, value]) => value !== undefined && value !== '');
  return { rpcSocket, ...Object.fromEntries(set) };
}

function readToken(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    // Without a token the socket still says who the app is; only REST over TCP needs one.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
