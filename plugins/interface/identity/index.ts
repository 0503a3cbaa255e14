import { join } from 'node:path';
import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { processes } from '@device-core/plugin-api/inside/services/processes';
import { sessions } from '@device-core/plugin-api/inside/services/sessions';
import { device } from '@device-core/plugin-api/services/device';
import { BrowserKeys } from './browser-keys.ts';
import { CallerResolver } from './caller-resolver.ts';
import { loadOperatorToken } from './operator-token.ts';
import { loadPeerReader } from './peer-credentials.ts';
import { BrowserSessions } from './sessions.ts';
import { Tokens } from './tokens.ts';

export const plugin = definePlugin({
  requires: { device, processes },
  async setup(host, { device, processes }) {
    const { auth, sku, paths } = await device.info();
    const path = join(paths.run, 'operator.token');
    const { token, replaced, file } = await loadOperatorToken(path, host.scope);
    if (replaced) host.log.warn({ file: path, reason: replaced }, 'the operator token was replaced by a new one');

    const peers = await loadPeerReader();
    if (peers.failure) host.log.warn({ reason: reasonOf(peers.failure) }, 'peer credentials cannot be read');

    const onListenerError = (thrown: unknown) =>
      host.log.error({ reason: reasonOf(thrown) }, 'a listener of revocations failed');
    const { scope, log, clock } = host;
    // A folder that is in no backup: a restore must not let in whoever was revoked since.
    const keys = await BrowserKeys.open({ path: join(paths.var, 'browsers/keys.json'), scope, log, clock });
    const browsers = await BrowserSessions.open({
      path: join(paths.run, 'sessions.json'),
      scope,
      log,
      clock,
      browsers: keys,
      peerName: (caller) => resolver.nameOf(caller),
      onListenerError,
    });

    const open = auth === 'open' && sku.simulated;
    const resolver = new CallerResolver({
      tokens: new Tokens(token),
      sessions: browsers,
      processes,
      peers,
      uid: process.getuid?.() ?? 0,
      open,
      onListenerError,
    });

    host.tap('health.collect', (report) => {
      const { trouble } = file;
      if (!trouble) report.add('identity', { status: 'okay' });
      else
        report.add('identity', {
          status: 'error',
          code: trouble.code,
          message: `the operator is known on the Unix socket only, for the token is in no file: ${trouble.message}`,
        });
      browsers.tell(report);
      if (peers.failure)
        report.warn(
          'PEER_CREDENTIALS_UNAVAILABLE',
          'callers on Unix sockets need a token: their credentials cannot be read',
        );
      if (open) report.warn('AUTH_OPEN', 'every caller without a token is the operator (auth: open)');
    });

    host.provide(sessions, browsers);
    host.provide(identity, {
      authenticate: (credentials) => resolver.authenticate(credentials),
      issue: (app) => resolver.issue(app),
      revoke: (app) => resolver.revoke(app),
      launched: (launch) => resolver.launched(launch),
      peerOf: (fd) => resolver.peerOf(fd),
      onRevoked: (listener) => resolver.onRevoked(listener),
    });
  },
});
