/** Target of a request in the forms for proxies (RFC 9110 and 9112). Pure. */
import { CoreError } from '@device-core/plugin-api';
import { hostProblem } from '@device-core/plugin-api/inside/app-spec';

export interface Target {
  /** Lower case, without a dot at its end. */
  readonly host: string;
  readonly port: number;
}

const AUTHORITY = /^([^:@/?#[\]\s]{1,254})(?::(\d{1,5}))?$/;
const ABSOLUTE = /^http:\/\/([^/?#]*)((?:[/?][^#\s]*)?)$/i;
const HTTP = 80;

/** Target of CONNECT. Throws REQUEST_INVALID, and EGRESS_DENIED for an address. */
export function targetOf(app: string, authority: string): Target {
  const [, name = '', port] = AUTHORITY.exec(authority) ?? [];
  if (name === '') {
    if (/^\[[0-9a-f:.]+\](:\d+)?$/i.test(authority)) throw denied(app, authority, 'an address names no host');
    throw unread(`CONNECT takes <host>:<port>, not ${JSON.stringify(authority.slice(0, 100))}`);
  }
  if (port === undefined) throw unread('CONNECT takes <host>:<port>, and there is no port');
  return checked(app, name, Number(port));
}

/** Target of every other method: `http://<host>[:<port>]/...`; `path` is handed on as it came. */
export function absoluteTarget(app: string, url: string): Target & { readonly path: string } {
  const [, authority, path = ''] = ABSOLUTE.exec(url) ?? [];
  if (authority === undefined)
    throw unread('this is the way out for CONNECT and for http://<host>/..., and nothing else is asked of it');
  const [, name = '', port] = AUTHORITY.exec(authority) ?? [];
  if (name === '' && !authority.startsWith('[')) throw unread('there is no host in the address of the request');
  const target = checked(app, name === '' ? authority : name, port === undefined ? HTTP : Number(port));
  return { ...target, path: path.startsWith('/') ? path : `/${path}` };
}

function checked(app: string, name: string, port: number): Target {
  const host = name.toLowerCase().replace(/\.$/, '');
  const problem = hostProblem(host);
  if (problem !== undefined) throw denied(app, host, problem);
  if (port < 1 || port > 65_535) throw unread(`${port} is no port`);
  return { host, port };
}

function denied(app: string, host: string, reason: string): CoreError {
  const hint = 'capabilities: [{ id: "network.outbound:<host>", reason: ... }] in app.yaml';
  return new CoreError('EGRESS_DENIED', { app, host: host.slice(0, 100), reason, hint });
}

const unread = (reason: string) => new CoreError('REQUEST_INVALID', { reason });
